import type { Reservation } from '../../budgets/budgets.ts'
import { AppError } from '../../platform/errors.ts'
import type { Attempt, BatchAnswer, Call, ParsedRequest, Sink } from '../core/call.ts'
import type { AdapterFor } from '../format-adapters.ts'
import type { RouteResult } from '../routing/router.ts'
import type { RoutingTable } from '../routing/table.ts'

interface Answered {
  readonly call: Call
  readonly answer: BatchAnswer
  /** With the full name of the model. */
  readonly parsed: ParsedRequest
  readonly table: RoutingTable
  readonly adapterFor: AdapterFor
  readonly startedMs: number
}

/** Passes the answer of a batch API to the sink, as the only attempt of its call. Rejects when the deployment was removed. */
export async function batchAnswerResult(given: Answered, sink: Sink): Promise<RouteResult> {
  const { call, answer, parsed, table, adapterFor, startedMs } = given
  const { upstreamModel } = answer
  const deployment = table.deployment(answer.deployment)
  const chosen = deployment && adapterFor(call.kind, { deployment, upstreamModel })
  if (!chosen) throw new AppError('unavailable', `deployment ${answer.deployment} of a batch was removed`)
  const attempt: Attempt = {
    call,
    parsed,
    target: { deployment, upstreamModel, protocol: chosen.protocol },
    ownHeaders: { 'x-switchyard-request-id': call.requestId, 'x-switchyard-deployment': deployment.id },
    startedMs,
  }
  const ending = await chosen.adapter(attempt, sink)
  return { ending, attempt, attempts: 1, discarded: [] }
}

/**
 * Returns the reservation of a request that a batch API answered. Booking its row ends it. Also where nothing was
 * reserved the row is booked like one with a reservation, since such rows may be sent again after a crash.
 */
export const batchReservation = ({ reservedUsd }: BatchAnswer): Reservation => ({
  sliceId: undefined,
  amountUsd: reservedUsd,
  isBudgeted: false,
  isParallelLimited: false,
  warning: undefined,
  settled: () => undefined,
  release: () => undefined,
})
