import type { ApiKeyWrite } from '../../contract/keys.ts'
import type { BudgetLimits } from '../budgets/store.ts'
import { cacheTtlMs } from '../platform/durations.ts'
import { invalid } from '../platform/errors.ts'
import type { KeyFields } from './key-row.ts'

/** What a key gets where the caller says nothing: all owners, all models, no limit, for ever. */
export const unlimited: KeyFields & BudgetLimits = {
  label: '',
  owner_id: null,
  role: 'user',
  models: [],
  passthrough: [],
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

/** `current` after a write: absent means unchanged, null clears. `expires_at` of `duration` is the caller's to find. */
export function applyWrite(current: KeyFields & BudgetLimits, write: ApiKeyWrite, lasting: Date | undefined) {
  const keep = <T>(given: T | null | undefined, before: T, cleared: T): T =>
    given === undefined ? before : (given ?? cleared)
  const usd = (given: number | null | undefined, before: string | null) =>
    keep(given === undefined || given === null ? given : String(given), before, null)
  if (lasting && write.expires_at !== undefined) throw invalid('send expires_at or duration, not both')
  return {
    label: write.label ?? current.label,
    owner_id: keep(write.owner_id, current.owner_id, null),
    role: write.role ?? current.role,
    models: keep(write.models, current.models, []),
    passthrough: keep(write.passthrough, current.passthrough, []),
    cache: checkedCache(keep(write.cache, current.cache, null)),
    log_bodies: write.log_bodies
      ? { until: checkedEnd(write.log_bodies.until) }
      : keep(write.log_bodies, current.log_bodies, null),
    metadata: checkedSize(keep(write.metadata, current.metadata, {})),
    expires_at: lasting ?? keep(dateOf(write.expires_at), current.expires_at, null),
    max_usd: usd(write.max_budget, current.max_usd),
    soft_usd: usd(write.soft_budget, current.soft_usd),
    duration: keep(write.budget_duration, current.duration, null),
    rpm_limit: keep(write.rpm_limit, current.rpm_limit, null),
    tpm_limit: keep(write.tpm_limit, current.tpm_limit, null),
    max_parallel: keep(write.max_parallel_requests, current.max_parallel, null),
  }
}

function dateOf(text: string | null | undefined): Date | null | undefined {
  if (text === undefined || text === null) return text
  const date = new Date(text)
  if (Number.isNaN(date.getTime())) throw invalid(`expires_at ${JSON.stringify(text)} is no time`)
  return date
}

function checkedCache(cache: KeyFields['cache']): KeyFields['cache'] {
  if (!cache) return null
  const { ttl } = cache
  if (cacheTtlMs(ttl) === undefined) throw invalid(`cache.ttl ${ttl} is not a duration of 1s to 30d`)
  return { ttl }
}

/** Recording has an end, so that nobody forgets it. */
const longestLogMs = 90 * 24 * 60 * 60 * 1_000

function checkedEnd(until: string): string {
  const end = new Date(until)
  const restMs = end.getTime() - Date.now()
  if (Number.isNaN(restMs)) throw invalid(`log_bodies.until ${JSON.stringify(until)} is no time`)
  if (restMs <= 0) throw invalid('log_bodies.until is in the past; send null to end the recording')
  if (restMs > longestLogMs) throw invalid('log_bodies.until is more than 90 days from now')
  return end.toISOString()
}

const maxMetadataLength = 16_384

function checkedSize(metadata: KeyFields['metadata']): KeyFields['metadata'] {
  if (JSON.stringify(metadata).length > maxMetadataLength) {
    throw invalid(`metadata must NOT have more than ${maxMetadataLength} characters as JSON`)
  }
  return metadata
}
