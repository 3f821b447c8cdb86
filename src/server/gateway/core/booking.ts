import type { Reservation } from '../../budgets/budgets.ts'
import type { Payers } from '../../budgets/store.ts'
import type { Protocol } from '../../config/protocols.ts'
import type { FrozenPayers } from '../../controls/freezes.ts'
import { newId } from '../../platform/ids.ts'
import { contextOf } from '../../platform/trace-context.ts'
import { lesserUsd, sumUsd } from '../../platform/usd.ts'
import type { UsageRow } from '../../usage/store.ts'
import { isEmbedding } from '../endpoints/embedding-formats.ts'
import { imageOf } from '../endpoints/request.ts'
import { endpoints, isEndpoint } from '../endpoints/table.ts'
import { isPassthrough } from '../format-adapters.ts'
import type { ModelLimits, PriceBook } from '../pricing/price-book.ts'
import { tokenChargeOf } from '../pricing/token-charge.ts'
import { toolCallsOf } from '../pricing/tool-fees.ts'
import { chargeOf } from '../pricing/unit-prices.ts'
import { estimateInputOf } from '../tokens/count-tokens.ts'
import { noTokens, type TokenCounts } from '../tokens/token-counts.ts'
import { withoutAccount } from '../upstream/bedrock.ts'
import { withoutSecrets } from '../upstream/scrub.ts'
import type {
  Attempt,
  Call,
  CallKind,
  DiscardedAnswer,
  EndpointKind,
  Outcome,
  ParsedRequest,
  Target,
  Units,
} from './call.ts'
import type { Degradation } from './degradations.ts'

interface Ended {
  readonly outcome: Outcome
  /** Number of attempts. */
  readonly attempts: number
  readonly prices: PriceBook
  /** Reservation of the call; undefined without one. */
  readonly reservation: Pick<Reservation, 'amountUsd' | 'sliceId'> | undefined
  /** Costs of the discarded answers. */
  readonly discardedUsd: readonly string[]
}

/** Returns the ledger row of an ended call, with the requested model and the deployment of the last attempt. */
export function usageRow(attempt: Attempt, { outcome, attempts, prices, reservation, discardedUsd }: Ended): UsageRow {
  const { call, parsed, target, startedMs } = attempt
  const { usage } = outcome
  const charge = isEndpoint(call.kind)
    ? endpointCharge(call.kind, attempt, outcome, prices)
    : tokenChargeOf({ call, target, usage, prices })
  return rowOf(call, parsed, {
    ...charge,
    target,
    outcome,
    attempts,
    costUsd: sumUsd(costOfCall(outcome, charge.costUsd, reservation), discardedUsd),
    reservation,
    totalMs: performance.now() - startedMs,
  })
}

/** Returns the costs of the discarded answers whose models have a price. */
export const costsOf = (call: Call, discarded: readonly DiscardedAnswer[], prices: PriceBook): readonly string[] =>
  discarded.flatMap(({ target, usage }) => tokenChargeOf({ call, target, usage, prices }).costUsd ?? [])

/** Returns the cost of a call. A cost assumed from the request alone is limited to the reserved amount. */
function costOfCall(
  { unstatedMs }: Outcome,
  cost: string | undefined,
  reservation: Ended['reservation'],
): string | undefined {
  return unstatedMs === undefined || cost === undefined || !reservation ? cost : lesserUsd(cost, reservation.amountUsd)
}

function endpointCharge(kind: EndpointKind, { call, target }: Attempt, outcome: Outcome, prices: PriceBook) {
  const { price } = prices.factsOf(target)
  const image = imageOf({ ...call, kind })
  return chargeOf({ kind, model: target, image, usage: outcome.usage, units: outcome.units ?? {}, price })
}

/** Returns the ledger row of a call that the response cache answered: no upstream was called, and the cost is 0. */
export const cachedRow = (
  { call, parsed, startedMs }: Pick<Attempt, 'call' | 'parsed' | 'startedMs'>,
  { outcome, reservation }: Pick<Ended, 'outcome' | 'reservation'>,
): UsageRow => ({
  ...rowOf(call, parsed, {
    outcome,
    attempts: 0,
    costUsd: '0',
    reservation,
    totalMs: performance.now() - startedMs,
  }),
  lane: 'cache',
  cached: true,
})

/** Returns the ledger row of a request to a provider's own API. Counts the request; its usage is unknown. */
export const nativeRow = (
  { call, parsed, target, startedMs }: Attempt,
  { outcome, reservation, costUsd }: Pick<Ended, 'outcome' | 'reservation'> & { readonly costUsd: string | undefined },
): UsageRow => ({
  ...rowOf(call, parsed, {
    target,
    outcome,
    attempts: 1,
    costUsd,
    reservation,
    totalMs: performance.now() - startedMs,
  }),
  lane: 'native',
})

/** Returns the ledger row of a call whose process crashed: the reserved amount counts as spent. */
export const lostRow = (call: Call, parsed: ParsedRequest, reservedUsd: string): UsageRow =>
  rowOf(call, parsed, {
    outcome: lost,
    attempts: 0,
    costUsd: reservedUsd,
    reservation: { amountUsd: reservedUsd, sliceId: undefined },
    totalMs: 0,
  })

const lost = {
  outcome: 'lost',
  status: undefined,
  stopReason: undefined,
  usage: { ...noTokens, estimated: true },
  firstContentMs: undefined,
} as const

/** Facts of an ended call. Amounts are exact decimals in US dollars. */
interface Facts {
  readonly target?: Target
  readonly outcome: Omit<Outcome, 'outcome'> & { readonly outcome: Outcome['outcome'] | 'lost' }
  readonly attempts: number
  readonly costUsd: string | undefined
  readonly rates?: UsageRow['rates'] | undefined
  readonly priceSource?: string | undefined
  readonly reservation: Ended['reservation']
  readonly totalMs: number
}

/** Creates the row with all columns at once: an object that grows step by step takes three times the memory. */
function rowOf(call: Call, parsed: ParsedRequest, facts: Facts): UsageRow {
  const { session, headers } = call
  const { target, outcome } = facts
  const { usage } = outcome
  const payers = payersOf(call)
  const deployment = target?.deployment
  // The upstream chooses these texts, which may contain its credential.
  const clean = <T extends string | null | undefined>(text: T) =>
    text && deployment ? withoutSecrets(text, deployment) : text
  return {
    id: newId('use'),
    request_id: call.requestId,
    principal: call.caller.principal,
    key_id: orNull(payers?.key),
    owner_id: orNull(payers?.owner),
    agent_id: orNull(payers?.agent),
    session_id: orNull(payers?.session),
    prompt_id: orNull(session?.prompt_id),
    run_id: orNull(session?.run_id),
    client_session_id: text(headers['x-claude-code-session-id']),
    client_agent_id: text(headers['x-claude-code-agent-id']),
    client_parent_id: text(headers['x-claude-code-parent-agent-id']),
    alias: storable(parsed.model) ?? '',
    deployment: deployment?.id ?? '',
    provider: deployment?.provider ?? '',
    upstream_model: storable(target && withoutAccount(target.upstreamModel)) ?? '',
    lane: target ? modeOf(call.kind, target.protocol) : '',
    protocol: target?.protocol ?? null,
    outcome: outcome.outcome,
    stop_reason: storable(clean(outcome.stopReason)),
    status: orNull(outcome.status),
    attempts: facts.attempts,
    input_tokens: usage.input_tokens,
    cache_read_tokens: usage.cache_read_tokens,
    cache_write_5m_tokens: usage.cache_write_5m_tokens,
    cache_write_1h_tokens: usage.cache_write_1h_tokens,
    output_tokens: usage.output_tokens,
    reasoning_tokens: usage.reasoning_tokens,
    web_searches: usage.web_searches,
    units: outcome.units ?? unitsBesides(usage, call),
    estimated: usage.estimated,
    cost_usd: orNull(facts.costUsd),
    rates: orNull(facts.rates),
    price_source: orNull(facts.priceSource),
    held_usd: orNull(facts.reservation?.amountUsd),
    slice_id: orNull(facts.reservation?.sliceId),
    kind: call.kind,
    trace: headers['traceparent'] === undefined ? null : orNull(contextOf(headers)),
    cached: null,
    batch_id: orNull(call.batchId),
    degraded: clean(listed(outcome.degraded ?? [])),
    first_content_ms: orNull(outcome.firstContentMs),
    total_ms: facts.totalMs,
  }
}

const orNull = <T>(value: T | null | undefined): T | null => value ?? null

/** Returns the payers of a call; undefined if no budget can limit it. A session's owner precedes the key's. */
export function payersOf({ caller, session }: Call): Payers | undefined {
  const { key, principal } = caller
  if (!key && !session) return undefined
  // The principal of a key without an owner is the key itself.
  const ownerOfKey = key && principal !== key.id ? principal : undefined
  return {
    key: key?.id,
    owner: session?.owner_id || ownerOfKey,
    agent: session?.agent_id || undefined,
    session: session?.session_id,
  }
}

/** Returns the keys and the owner whose freeze blocks a call. */
export function frozenPayersOf(call: Call): FrozenPayers {
  const { key } = call.caller
  return { keys: key ? [key.id, ...(key.ancestors ?? [])] : [], owner: payersOf(call)?.owner }
}

const modeOf = (kind: CallKind, protocol: Protocol): string =>
  protocol === 'demo' ? 'demo' : isPassthrough(kind, protocol) ? 'raw' : 'translated'

/** Returns units besides tokens and web searches, which have their own columns; null without any. */
function unitsBesides(usage: TokenCounts, call: Call): Units | null {
  const { audio, file_searches: searches, code_containers: containers } = usage
  if (!audio && searches + containers === 0) return null
  const { web_search: _, web_search_preview: __, ...others } = toolCallsOf(usage, call)
  const [heard, spoken] = audio ? [audio.input + audio.cacheRead, audio.output] : [0, 0]
  return { ...others, ...(heard > 0 && { audio_token: heard }), ...(spoken > 0 && { audio_output_token: spoken }) }
}

const maxListingLength = 8_000

/** Returns all degradations as `path=action` pairs; null without any. */
function listed(degradations: readonly Degradation[]): string | null {
  if (degradations.length === 0) return null
  const pairs = degradations.map(({ path, action }) => `${path}=${action}`).join(', ')
  return storable(pairs, maxListingLength)
}

/** Returns the value of a header; null without one. */
const text = (value: string | string[] | undefined): string | null =>
  value === undefined ? null : storable(typeof value === 'string' ? value : value[0])

/** Returns untrusted text as a column accepts it: without NUL, which PostgreSQL rejects, and truncated. */
function storable(text: string | undefined, maxCharacters = 300): string | null {
  if (text === undefined) return null
  const isPlain = text.length <= maxCharacters && !text.includes('\0') && text.isWellFormed()
  return isPlain ? text : text.replaceAll('\0', '').slice(0, maxCharacters).toWellFormed()
}

interface Assumptions {
  /** Limits of the model that got the request. */
  readonly limits: ModelLimits
  readonly outputTokensPerSecond: number
}

/**
 * Returns the outcome to book when the upstream did not state the usage, because the answer was aborted, lost or
 * truncated. Counts the whole input, and as much output as the upstream may have produced by then: otherwise a client
 * could avoid its budget by disconnecting. `unstatedMs` stays where the upstream stated no counts at all.
 */
export function withAssumed(outcome: Outcome, { call, parsed }: Attempt, assumptions: Assumptions): Outcome {
  const { unstatedMs = 0, usage } = outcome
  const maxOutput = parsed.maxTokens || (assumptions.limits.maxOutput ?? assumptions.limits.contextWindow)
  const assumed = Math.ceil((unstatedMs / 1_000) * assumptions.outputTokensPerSecond)
  const hasOutput = !isEmbedding(call.kind) && !(isEndpoint(call.kind) && !endpoints[call.kind].hasOutput)
  const output = hasOutput ? Math.min(assumed, maxOutput ?? assumed) : 0
  const booked = { ...usage, output_tokens: Math.max(usage.output_tokens, output), estimated: true }
  if (hasInput(usage)) {
    const { unstatedMs: _, ...stated } = outcome
    return { ...stated, usage: booked }
  }
  return { ...outcome, usage: { ...booked, input_tokens: estimateInputOf(call) } }
}

const hasInput = (usage: TokenCounts): boolean =>
  usage.input_tokens + usage.cache_read_tokens + usage.cache_write_5m_tokens + usage.cache_write_1h_tokens > 0
