import type { Budgets } from '../../budgets/budgets.ts'
import { isOpenAiFormat, type Protocol } from '../../config/protocols.ts'
import { joined } from '../bytes/body-edit.ts'
import type { Call, CallKind, DeployedModel, ParsedRequest } from '../core/call.ts'
import { reservationFor } from '../core/call-reservations.ts'
import { otherModelsIn } from '../core/other-models.ts'
import { batchPrices } from '../pricing/batch-price.ts'
import type { Served } from '../routing/router.ts'
import type { RoutingTable } from '../routing/table.ts'
import type { BatchRequest, BatchTarget } from './batch-api.ts'

const kinds: ReadonlySet<CallKind> = new Set(['messages', 'chat', 'responses', 'embeddings'])

const ownHosts: Readonly<Record<string, string>> = { anthropic: 'api.anthropic.com', openai: 'api.openai.com' }

/** True where calls of a kind can be made through the provider's batch API, which compatible servers mostly lack. */
function hasBatchApi(kind: CallKind, { deployment, protocol, batchRequest }: Served): boolean {
  const { provider, apiBase, batchApi } = deployment
  if (!kinds.has(kind) || !batchRequest || !(protocol === 'anthropic-messages' || isOpenAiFormat(protocol)))
    return false
  return batchApi ?? new URL(apiBase).host === ownHosts[provider]
}

/** The deployment that a batch of calls of this kind goes to: the first of the model, if its provider has a batch API. */
function servedFor(table: RoutingTable, kind: CallKind, model: string): Served | undefined {
  const [first] = table.served(kind, model)
  return first && hasBatchApi(kind, first) ? first : undefined
}

const targetOf = ({ deployment, upstreamModel }: DeployedModel): BatchTarget => ({
  deployment: deployment.id,
  upstream_model: upstreamModel,
})

/** Returns the target of calls of a kind to a model; undefined where they are made singly. */
export function batchTargetOf(table: RoutingTable, kind: CallKind, name: string): BatchTarget | undefined {
  const served = servedFor(table, kind, table.nameOf(name))
  return served && targetOf(served)
}

interface Incoming {
  readonly call: Call
  /** With the full name of the model. */
  readonly parsed: ParsedRequest
  readonly table: RoutingTable
  readonly budgets: Pick<Budgets, 'isLimited' | 'reserve'> | undefined
}

/** Reserves the maximum cost of a call at the batch price, and returns its request; undefined for a call to make singly. */
export async function batchRequestFor({ call, parsed, table, budgets }: Incoming): Promise<BatchRequest | undefined> {
  const served = servedFor(table, call.kind, parsed.model)
  const built = await served?.batchRequest?.({ call, parsed, target: served })
  if (!served || !built) return undefined
  const batch = batchPrices(table.prices)
  const incoming = { call, parsed, table, candidates: [served], groupOf: () => [], batch }
  const reservation = budgets && (await reservationFor(budgets, incoming))
  // It would count as a call in flight for hours; or the single call is rejected.
  if (reservation?.isParallelLimited || otherModelsIn(incoming, reservation) !== undefined) {
    reservation?.release()
    return undefined
  }
  const { path, headers, body } = built
  const { protocol } = served
  const request = { protocol, path: withVersion(path, protocol), headers, body: joined(body), called: call.body }
  return { ...targetOf(served), ...request, reservedUsd: reservation?.amountUsd }
}

/** Base addresses of OpenAI's formats contain the version; the paths in a batch begin with it. */
const withVersion = (path: string, protocol: Protocol): string => (isOpenAiFormat(protocol) ? `/v1${path}` : path)
