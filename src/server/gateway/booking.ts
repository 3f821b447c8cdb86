import type { Hold } from '../budgets/budgets.ts'
import type { Payers } from '../budgets/store.ts'
import type { Protocol } from '../config/config.ts'
import { newId } from '../platform/ids.ts'
import type { UsageRow } from '../usage/store.ts'
import type { Ask, Attempt, Call, CallKind, Outcome } from './call.ts'
import { noTokens } from './counting/token-counts.ts'
import { isRaw } from './lanes.ts'
import { costOf } from './prices/cost.ts'
import type { ModelPrice } from './prices/price-book.ts'
import type { Degradation } from './translated/degradations.ts'

interface Ended {
  readonly outcome: Outcome
  /** Tries in all. */
  readonly attempts: number
  /** What the model costs there; undefined when nobody knows. */
  readonly price: ModelPrice | undefined
  /** What was held for it; undefined when nothing was. */
  readonly hold: Pick<Hold, 'amountUsd'> | undefined
}

/** The ledger's row for a call that has ended, under the name that was asked for and the deployment that came last. */
export function usageRow(attempt: Attempt, { outcome, attempts, price, hold }: Ended): UsageRow {
  const { call, ask, target, startedMs } = attempt
  const { usage } = outcome
  return {
    ...callColumns(call, ask, payersOf(call)),
    deployment: target.deployment.id,
    provider: target.deployment.provider,
    upstream_model: storable(target.upstreamModel) ?? '',
    lane: laneName(call.kind, target.deployment.protocol),
    protocol: target.deployment.protocol,
    outcome: outcome.outcome,
    stop_reason: storable(outcome.stopReason),
    status: outcome.status ?? null,
    attempts,
    input_tokens: usage.input_tokens,
    cache_read_tokens: usage.cache_read_tokens,
    cache_write_5m_tokens: usage.cache_write_5m_tokens,
    cache_write_1h_tokens: usage.cache_write_1h_tokens,
    output_tokens: usage.output_tokens,
    reasoning_tokens: usage.reasoning_tokens,
    web_searches: usage.web_searches,
    estimated: usage.estimated,
    cost_usd: (price && costOf(price.rates, usage)) ?? null,
    rates: price?.applied(usage) ?? null,
    price_source: price?.label ?? null,
    held_usd: hold?.amountUsd ?? null,
    degraded: listed(outcome.degraded ?? []),
    first_content_ms: outcome.firstContentMs ?? null,
    total_ms: performance.now() - startedMs,
  }
}

/** What the ledger says of a call whose process ended before it did: what was held for it counts as spent. */
export function lostRow(call: Call, ask: Ask, heldUsd: string): UsageRow {
  const { input_tokens, cache_read_tokens, cache_write_5m_tokens, cache_write_1h_tokens, output_tokens } = noTokens
  return {
    ...callColumns(call, ask, payersOf(call)),
    deployment: '',
    provider: '',
    upstream_model: '',
    lane: '',
    protocol: null,
    outcome: 'lost',
    stop_reason: null,
    status: null,
    attempts: 0,
    input_tokens,
    cache_read_tokens,
    cache_write_5m_tokens,
    cache_write_1h_tokens,
    output_tokens,
    reasoning_tokens: 0,
    web_searches: 0,
    estimated: true,
    cost_usd: heldUsd,
    rates: null,
    price_source: null,
    held_usd: heldUsd,
    degraded: null,
    first_content_ms: null,
    total_ms: 0,
  }
}

/** What is known of a call when it comes in. */
function callColumns(call: Call, ask: Ask, payers: Payers | undefined) {
  const { session, headers } = call
  return {
    id: newId('use'),
    request_id: call.requestId,
    principal: call.caller.principal,
    key_id: payers?.key ?? null,
    owner_id: payers?.owner ?? null,
    agent_id: payers?.agent ?? null,
    session_id: payers?.session ?? null,
    prompt_id: session?.prompt_id ?? null,
    run_id: session?.run_id ?? null,
    client_session_id: text(headers['x-claude-code-session-id']),
    client_agent_id: text(headers['x-claude-code-agent-id']),
    client_parent_id: text(headers['x-claude-code-parent-agent-id']),
    alias: storable(ask.model) ?? '',
  }
}

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

const laneName = (kind: CallKind, protocol: Protocol): string =>
  protocol === 'demo' ? 'demo' : isRaw(kind, protocol) ? 'raw' : 'translated'

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
const storable = (text: string | undefined, mostCharacters = 300): string | null =>
  text?.replaceAll('\0', '').slice(0, mostCharacters).toWellFormed() ?? null
