import type { ErrorCode } from '../../contract/error-codes.ts'
import type { SessionEvent } from '../../contract/events.ts'
import type { TraceContext } from '../platform/trace-context.ts'
import type { UsageRow } from '../usage/store.ts'
import { createSessionFollower, type Followed } from './session-follower.ts'

/** A deployment, as far as labels name it. */
export interface CalledDeployment {
  readonly alias: string
  readonly provider: string
}

/** Work that runs at intervals. */
export type SweepName = 'budgets' | 'disposal' | 'retention' | 'schedules' | 'sessions'

/** Way of a message between the service and another program. */
export type DeliveryKind = 'webhook' | 'endpoint' | 'reply'

/** A run of a session, and the requests that sent its prompts. */
export interface TracedRun {
  readonly sessionId: string
  readonly runId: string
  /** Trace contexts of the requests, in the order of the prompts; undefined for a request without one. */
  readonly requests: readonly (TraceContext | undefined)[]
}

/**
 * Receives what happens in this process, for metrics and traces. Methods never throw and return at once: they are on
 * the path of calls and of runs.
 */
export interface Telemetry {
  /** A model call has ended and was booked. */
  called(row: UsageRow): void
  /** The gateway itself answered a model call with an error. */
  rejected(code: ErrorCode): void
  /** A budget or rate limit admitted a call, or rejected it with this code. */
  reserved(result: 'reserved' | ErrorCode): void
  /** A deployment started to cool down after failures. */
  cooled(deployment: CalledDeployment, errorClass: string): void
  /** This process acquired a session. `isTakeover`: from an owner that did not hand it over. */
  leased(isTakeover: boolean): void
  /** A run starts or continues in this process, or prompts have joined it. */
  ran(run: TracedRun): void
  /** This process stored events of a session. */
  stored(sessionId: string, events: readonly SessionEvent[]): void
  /** A sweep ended. `isFailed`: it threw. */
  swept(name: SweepName, ms: number, isFailed: boolean): void
  /** A run of a schedule was settled. */
  ticked(state: string): void
  /** A webhook was received, or an attempt to send a message ended. */
  delivered(kind: DeliveryKind, outcome: string): void
}

/** Receives the same, and the events of sessions with the runs and tool calls that they end. */
export interface TelemetryReceiver extends Omit<Telemetry, 'stored'> {
  followed(sessionId: string, event: SessionEvent, found: Followed): void
}

const nothing: Omit<Telemetry, 'stored'> = {
  called: () => {},
  rejected: () => {},
  reserved: () => {},
  cooled: () => {},
  leased: () => {},
  ran: () => {},
  swept: () => {},
  ticked: () => {},
  delivered: () => {},
}

/** Does nothing. */
export const noTelemetry: Telemetry = { ...nothing, stored: () => {} }

/** Does nothing. */
export const noReceiver: TelemetryReceiver = { ...nothing, followed: () => {} }

/** Returns a telemetry that passes everything to each of `receivers`; `noTelemetry` without any. */
export function combined(receivers: readonly TelemetryReceiver[]): Telemetry {
  if (receivers.length === 0) return noTelemetry
  const follow = createSessionFollower()
  const all = (use: (receiver: TelemetryReceiver) => void): void => {
    for (const receiver of receivers) use(receiver)
  }
  return {
    called: row => all(receiver => receiver.called(row)),
    rejected: code => all(receiver => receiver.rejected(code)),
    reserved: result => all(receiver => receiver.reserved(result)),
    cooled: (deployment, errorClass) => all(receiver => receiver.cooled(deployment, errorClass)),
    leased: isTakeover => all(receiver => receiver.leased(isTakeover)),
    ran: run => all(receiver => receiver.ran(run)),
    stored(sessionId, events) {
      for (const event of events) {
        const found = follow(sessionId, event)
        all(receiver => receiver.followed(sessionId, event, found))
      }
    },
    swept: (name, ms, isFailed) => all(receiver => receiver.swept(name, ms, isFailed)),
    ticked: state => all(receiver => receiver.ticked(state)),
    delivered: (kind, outcome) => all(receiver => receiver.delivered(kind, outcome)),
  }
}
