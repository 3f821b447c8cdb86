import type { Hold } from '../../budgets/budgets.ts'
import type { Payers } from '../../budgets/store.ts'
import type { Protocol } from '../../config/config.ts'
import type { FrozenPayers } from '../../controls/freezes.ts'
import { newId } from '../../platform/ids.ts'
import { lesserUsd, sumUsd } from '../../platform/usd.ts'
import type { UsageRow } from '../../usage/store.ts'
import { isEmbedding } from '../endpoints/embedding-formats.ts'
import { imageOf } from '../endpoints/request.ts'
import { endpoints, isEndpoint } from '../endpoints/table.ts'
import { isRaw } from '../lanes.ts'
import type { ModelLimits, ModelPrice } from '../pricing/price-book.ts'
import { toolCallsOf } from '../pricing/tool-fees.ts'
import { chargeOf, tokenChargeOf } from '../pricing/unit-prices.ts'
import { estimateInputOf } from '../tokens/count-tokens.ts'
import { noTokens, type TokenCounts } from '../tokens/token-counts.ts'
import { withoutAccount } from '../upstream/bedrock.ts'
import { withoutSecrets } from '../upstream/scrub.ts'
import type { Ask, Attempt, Call, CallKind, EndpointKind, GivenUp, Outcome, Target, Units } from './call.ts'
import type { Degradation } from './degradations.ts'

interface Ended {
  readonly outcome: Outcome
  /** Tries in all. */
  readonly attempts: number
  /** What the model costs there; undefined when nobody knows. */
  readonly price: ModelPrice | undefined
  /** What was held for it; undefined when nothing was. */
  readonly hold: Pick<Hold, 'amountUsd' | 'sliceId'> | undefined
  /** What answers cost that were given up for this one. */
  readonly besidesUsd: readonly string[]
}

/** The ledger's row for a call that has ended, under the name that was asked for and the deployment that came last. */
export function usageRow(attempt: Attempt, { outcome, attempts, price, hold, besidesUsd }: Ended): UsageRow {
  const { call, ask, target, startedMs } = attempt
  const { usage } = outcome
  const charge = isEndpoint(call.kind)
    ? endpointCharge(call.kind, attempt, outcome, price)
    : tokenChargeOf({ call, target, usage, price })
  return rowOf(call, ask, {
    ...charge,
    target,
    outcome,
    attempts,
    costUsd: sumUsd(costOfCall(outcome, charge.costUsd, hold), besidesUsd),
    hold,
    totalMs: performance.now() - startedMs,
  })
}

/** What answers cost that were given up, as far as their models have a price. */
export const costsOf = (
  call: Call,
  givenUp: readonly GivenUp[],
  priceOf: (target: Target) => ModelPrice | undefined,
): readonly string[] =>
  givenUp.flatMap(({ target, usage }) => tokenChargeOf({ call, target, usage, price: priceOf(target) }).costUsd ?? [])

/** What is assumed from the request alone never costs more than what was held for it. */
function costOfCall({ unstatedMs }: Outcome, cost: string | undefined, hold: Ended['hold']): string | undefined {
  return unstatedMs === undefined || cost === undefined || !hold ? cost : lesserUsd(cost, hold.amountUsd)
}

function endpointCharge(kind: EndpointKind, { call, target }: Attempt, outcome: Outcome, price: Ended['price']) {
  const image = imageOf({ ...call, kind })
  return chargeOf({ kind, model: target, image, usage: outcome.usage, units: outcome.units ?? {}, price })
}

/** The ledger's row for a call that the response cache answered: no upstream was called, and nothing is spent. */
export const cachedRow = (
  { call, ask, startedMs }: Pick<Attempt, 'call' | 'ask' | 'startedMs'>,
  { outcome, hold }: Pick<Ended, 'outcome' | 'hold'>,
): UsageRow => ({
  ...rowOf(call, ask, {
    outcome,
    attempts: 0,
    costUsd: '0',
    hold,
    totalMs: performance.now() - startedMs,
  }),
  lane: 'cache',
  cached: true,
})

/** The ledger's row for a request to a provider's own API: counted, without a usage that anybody could read. */
export const nativeRow = (
  { call, ask, target, startedMs }: Attempt,
  { outcome, hold, costUsd }: Pick<Ended, 'outcome' | 'hold'> & { readonly costUsd: string | undefined },
): UsageRow => ({
  ...rowOf(call, ask, {
    target,
    outcome,
    attempts: 1,
    costUsd,
    hold,
    totalMs: performance.now() - startedMs,
  }),
  lane: 'native',
})

/** What the ledger says of a call whose process ended before it did: what was held for it counts as spent. */
export const lostRow = (call: Call, ask: Ask, heldUsd: string): UsageRow =>
  rowOf(call, ask, {
    outcome: lost,
    attempts: 0,
    costUsd: heldUsd,
    hold: { amountUsd: heldUsd, sliceId: undefined },
    totalMs: 0,
  })

const lost = {
  outcome: 'lost',
  status: undefined,
  stopReason: undefined,
  usage: { ...noTokens, estimated: true },
  firstContentMs: undefined,
} as const

/** How a call ended, as far as it is known. Amounts are exact decimals in US dollars. */
interface Facts {
  readonly target?: Target
  readonly outcome: Omit<Outcome, 'outcome'> & { readonly outcome: Outcome['outcome'] | 'lost' }
  readonly attempts: number
  readonly costUsd: string | undefined
  readonly rates?: UsageRow['rates'] | undefined
  readonly priceSource?: string | undefined
  readonly hold: Ended['hold']
  readonly totalMs: number
}

/** All columns at once: a row that grows by and by takes three times the memory, for every call. */
function rowOf(call: Call, ask: Ask, facts: Facts): UsageRow {
  const { session, headers } = call
  const { target, outcome } = facts
  const { usage } = outcome
  const payers = payersOf(call)
  const deployment = target?.deployment
  // An upstream chooses these words, and may put its credential there.
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
    alias: storable(ask.model) ?? '',
    deployment: deployment?.id ?? '',
    provider: deployment?.provider ?? '',
    upstream_model: storable(target && withoutAccount(target.upstreamModel)) ?? '',
    lane: target ? laneName(call.kind, target.protocol) : '',
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
    units: outcome.units ?? serverToolUnits(usage, call),
    estimated: usage.estimated,
    cost_usd: orNull(facts.costUsd),
    rates: orNull(facts.rates),
    price_source: orNull(facts.priceSource),
    held_usd: orNull(facts.hold?.amountUsd),
    slice_id: orNull(facts.hold?.sliceId),
    cached: null,
    degraded: clean(listed(outcome.degraded ?? [])),
    first_content_ms: orNull(outcome.firstContentMs),
    total_ms: facts.totalMs,
  }
}

const orNull = <T>(value: T | null | undefined): T | null => value ?? null

/** Who pays, and in whose name. A session's owner comes before the key's. Undefined: nobody that could have a limit. */
export function payersOf({ caller, session }: Call): Payers | undefined {
  const { key, principal } = caller
  if (!key && !session) return undefined
  // A key without an owner stands for itself.
  const ownerOfKey = key && principal !== key.id ? principal : undefined
  return {
    key: key?.id,
    owner: session?.owner_id || ownerOfKey,
    agent: session?.agent_id || undefined,
    session: session?.session_id,
  }
}

/** Whose freeze stands against a call. */
export function frozenPayersOf(call: Call): FrozenPayers {
  const { key } = call.caller
  return { keys: key ? [key.id, ...(key.ancestors ?? [])] : [], owner: payersOf(call)?.owner }
}

const laneName = (kind: CallKind, protocol: Protocol): string =>
  protocol === 'demo' ? 'demo' : isRaw(kind, protocol) ? 'raw' : 'translated'

/** What was used besides tokens and searches of the web, which have a column of their own; null without any. */
function serverToolUnits(usage: TokenCounts, call: Call): Units | null {
  if (usage.file_searches + usage.code_containers === 0) return null
  const { web_search: _, web_search_preview: __, ...others } = toolCallsOf(usage, call)
  return others
}

const longestListing = 8_000

/** All that was dropped or approximated, as `path=action` pairs; null when nothing was. */
function listed(degradations: readonly Degradation[]): string | null {
  if (degradations.length === 0) return null
  const pairs = degradations.map(({ path, action }) => `${path}=${action}`).join(', ')
  return storable(pairs, longestListing)
}

/** A header's value; null without one. */
const text = (value: string | string[] | undefined): string | null =>
  value === undefined ? null : storable(typeof value === 'string' ? value : value[0])

/** Text of strangers as a column takes it: no NUL, which PostgreSQL refuses, and no more than a name's length. */
function storable(text: string | undefined, mostCharacters = 300): string | null {
  if (text === undefined) return null
  const isPlain = text.length <= mostCharacters && !text.includes('\0') && text.isWellFormed()
  return isPlain ? text : text.replaceAll('\0', '').slice(0, mostCharacters).toWellFormed()
}

interface Assumptions {
  /** Of the model that had the request. */
  readonly limits: ModelLimits
  readonly outputTokensPerSecond: number
}

/**
 * The outcome as it is booked when its usage is not stated. An answer that was left, lost or cut before its upstream stated the usage counts with its
 * whole input, and with as much output as the upstream may have made by then: hanging up must not be a way around a budget.
 * `unstatedMs` stays where the upstream stated nothing at all.
 */
export function withAssumed(outcome: Outcome, { call, ask }: Attempt, assumptions: Assumptions): Outcome {
  const { unstatedMs = 0, usage } = outcome
  const most = ask.maxTokens || (assumptions.limits.maxOutput ?? assumptions.limits.contextWindow)
  const assumed = Math.ceil((unstatedMs / 1_000) * assumptions.outputTokensPerSecond)
  const hasOutput = !isEmbedding(call.kind) && !(isEndpoint(call.kind) && !endpoints[call.kind].hasOutput)
  const output = hasOutput ? Math.min(assumed, most ?? assumed) : 0
  const booked = { ...usage, output_tokens: Math.max(usage.output_tokens, output), estimated: true }
  if (hasInput(usage)) {
    const { unstatedMs: _, ...stated } = outcome
    return { ...stated, usage: booked }
  }
  return { ...outcome, usage: { ...booked, input_tokens: estimateInputOf(call) } }
}

const hasInput = (usage: TokenCounts): boolean =>
  usage.input_tokens + usage.cache_read_tokens + usage.cache_write_5m_tokens + usage.cache_write_1h_tokens > 0
