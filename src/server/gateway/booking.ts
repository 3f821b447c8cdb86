import type { Protocol } from '../config/config.ts'
import { newId } from '../platform/ids.ts'
import type { UsageRow } from '../usage/store.ts'
import type { Attempt, CallKind, Outcome } from './call.ts'
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
}

/** The ledger's row for a call that has ended, under the name that was asked for and the deployment that came last. */
export function usageRow({ call, ask, target, startedMs }: Attempt, { outcome, attempts, price }: Ended): UsageRow {
  const { usage } = outcome
  const header = (name: string): string | null => {
    const value = call.headers[name]
    return value === undefined ? null : storable(typeof value === 'string' ? value : value[0])
  }
  return {
    id: newId('use'),
    request_id: call.requestId,
    principal: call.caller.principal,
    owner_id: call.session?.owner_id ?? null,
    agent_id: call.session?.agent_id ?? null,
    session_id: call.session?.session_id ?? null,
    prompt_id: call.session?.prompt_id ?? null,
    client_session_id: header('x-claude-code-session-id'),
    client_agent_id: header('x-claude-code-agent-id'),
    client_parent_id: header('x-claude-code-parent-agent-id'),
    alias: storable(ask.model) ?? '',
    deployment: target.deployment.id,
    provider: target.deployment.provider,
    upstream_model: storable(target.upstreamModel) ?? '',
    lane: laneName(call.kind, target.deployment.protocol),
    outcome: outcome.outcome,
    stop_reason: storable(outcome.stopReason),
    status: outcome.status ?? null,
    attempts,
    input_tokens: usage.input_tokens,
    cache_read_tokens: usage.cache_read_tokens,
    cache_write_5m_tokens: usage.cache_write_5m_tokens,
    cache_write_1h_tokens: usage.cache_write_1h_tokens,
    output_tokens: usage.output_tokens,
    estimated: usage.estimated,
    cost_usd: (price && costOf(price.rates, usage)) ?? null,
    degraded: listed(outcome.degraded ?? []),
    first_content_ms: outcome.firstContentMs ?? null,
    total_ms: performance.now() - startedMs,
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

/** Text of strangers as a column takes it: no NUL, which PostgreSQL refuses, and no more than a name's length. */
const storable = (text: string | undefined, mostCharacters = 300): string | null =>
  text?.replaceAll('\0', '').slice(0, mostCharacters).toWellFormed() ?? null
