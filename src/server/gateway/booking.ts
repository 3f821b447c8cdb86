import type { Protocol } from '../config/config.ts'
import { newId } from '../platform/ids.ts'
import type { UsageRow } from '../usage/store.ts'
import type { Attempt, Outcome } from './call.ts'

/** The ledger's row for a call that has ended. */
export function usageRow({ call, ask, target, startedMs }: Attempt, outcome: Outcome): UsageRow {
  const { usage } = outcome
  const header = (name: string): string | null => storable([call.headers[name]].flat()[0])
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
    lane: laneName(target.deployment.protocol),
    outcome: outcome.outcome,
    stop_reason: storable(outcome.stopReason),
    status: outcome.status ?? null,
    attempts: 1,
    input_tokens: usage.input_tokens,
    cache_read_tokens: usage.cache_read_tokens,
    cache_write_5m_tokens: usage.cache_write_5m_tokens,
    cache_write_1h_tokens: usage.cache_write_1h_tokens,
    output_tokens: usage.output_tokens,
    estimated: usage.estimated,
    first_content_ms: outcome.firstContentMs ?? null,
    total_ms: performance.now() - startedMs,
  }
}

const laneName = (protocol: Protocol): string =>
  protocol === 'anthropic-messages' ? 'raw' : protocol === 'demo' ? 'demo' : 'translated'

/** Text of strangers as a column takes it: no NUL, which PostgreSQL refuses, and no more than a name's length. */
const storable = (text: string | undefined): string | null => text?.replaceAll('\0', '').slice(0, 300) ?? null
