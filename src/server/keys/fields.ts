import type { ApiKeyWrite } from '../../contract/keys.ts'
import type { BudgetLimits } from '../budgets/store.ts'
import { timeIn } from '../http/time-range.ts'
import { cacheTtlMs } from '../platform/durations.ts'
import { invalid } from '../platform/errors.ts'
import type { KeyFields } from './key-row.ts'

/** Defaults of a key: all owners, all models, no limits, no expiry. */
export const unlimited: KeyFields & BudgetLimits = {
  label: '',
  owner_id: null,
  user_id: null,
  team_id: null,
  role: 'user',
  models: [],
  passthrough: [],
  mcp_servers: null,
  mcp_tools: null,
  cache: null,
  log_bodies: null,
  metadata: {},
  expires_at: null,
  max_usd: null,
  soft_usd: null,
  duration: null,
  rpm_limit: null,
  tpm_limit: null,
  max_parallel: null,
}

/**
 * Returns the fields after a write: absent keeps the current value, null clears it. `expiresAt` is the end of
 * `duration`, computed by the caller.
 */
export function applyWrite(current: KeyFields & BudgetLimits, write: ApiKeyWrite, expiresAt: Date | undefined) {
  const merge = <T>(given: T | null | undefined, before: T, cleared: T): T =>
    given === undefined ? before : (given ?? cleared)
  const usd = (given: number | null | undefined, before: string | null) =>
    merge(given === undefined || given === null ? given : String(given), before, null)
  if (expiresAt && write.expires_at !== undefined) throw invalid('send expires_at or duration, not both')
  return {
    label: write.label ?? current.label,
    owner_id: merge(write.owner_id, current.owner_id, null),
    user_id: merge(write.user_id, current.user_id, null),
    team_id: merge(write.team_id, current.team_id, null),
    role: write.role ?? current.role,
    models: merge(write.models, current.models, []),
    passthrough: merge(write.passthrough, current.passthrough, []),
    mcp_servers: merge(write.mcp_servers, current.mcp_servers, null),
    mcp_tools: checkedTools(merge(write.mcp_tools, current.mcp_tools, null)),
    cache: checkedCache(merge(write.cache, current.cache, null)),
    log_bodies: write.log_bodies
      ? { until: checkedEnd(write.log_bodies.until) }
      : merge(write.log_bodies, current.log_bodies, null),
    metadata: checkedSize(merge(write.metadata, current.metadata, {})),
    expires_at: expiresAt ?? merge(dateOf(write.expires_at), current.expires_at, null),
    max_usd: usd(write.max_budget, current.max_usd),
    soft_usd: usd(write.soft_budget, current.soft_usd),
    duration: merge(write.budget_duration, current.duration, null),
    rpm_limit: merge(write.rpm_limit, current.rpm_limit, null),
    tpm_limit: merge(write.tpm_limit, current.tpm_limit, null),
    max_parallel: merge(write.max_parallel_requests, current.max_parallel, null),
  }
}

const maxToolServers = 500

function checkedTools(tools: KeyFields['mcp_tools']): KeyFields['mcp_tools'] {
  if (tools && Object.keys(tools).length > maxToolServers)
    throw invalid(`mcp_tools must not have more than ${maxToolServers} servers`)
  return tools
}

const dateOf = (text: string | null | undefined): Date | null | undefined =>
  typeof text === 'string' ? timeIn('expires_at', text) : text

function checkedCache(cache: KeyFields['cache']): KeyFields['cache'] {
  if (!cache) return null
  const { ttl } = cache
  if (cacheTtlMs(ttl) === undefined) throw invalid(`cache.ttl ${ttl} is not a duration of 1s to 30d`)
  return { ttl }
}

/** Recording must end, so that it is not left on by mistake. */
const maxLogMs = 90 * 24 * 60 * 60 * 1_000

function checkedEnd(until: string): string {
  const end = timeIn('log_bodies.until', until)
  const remainingMs = end.getTime() - Date.now()
  if (remainingMs <= 0) throw invalid('log_bodies.until is in the past; send null to end the recording')
  if (remainingMs > maxLogMs) throw invalid('log_bodies.until is more than 90 days from now')
  return end.toISOString()
}

const maxMetadataLength = 16_384

function checkedSize(metadata: KeyFields['metadata']): KeyFields['metadata'] {
  if (JSON.stringify(metadata).length > maxMetadataLength) {
    throw invalid(`metadata must not have more than ${maxMetadataLength} characters as JSON`)
  }
  return metadata
}
