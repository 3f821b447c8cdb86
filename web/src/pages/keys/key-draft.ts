import type { ApiKey, ApiKeyWrite, KeyRole } from '../../../../src/contract/keys.ts'
import { objectIn } from '../../data/json.ts'
import type { KeyRights } from './key-sentence.ts'

/** A number field of a form: empty or a number. */
type Amount = number | ''

/** The form of a key. Empty fields mean "no limit". */
export interface KeyDraft {
  readonly label: string
  readonly owner_id: string
  readonly user_id: string
  readonly team_id: string
  readonly role: KeyRole
  readonly models: readonly string[]
  readonly max_budget: Amount
  readonly soft_budget: Amount
  /** Empty: the budget never resets. */
  readonly budget_duration: string
  readonly rpm_limit: Amount
  readonly tpm_limit: Amount
  readonly max_parallel_requests: Amount
  /** Last day of the key, in the zone of the person: `2026-12-31`. */
  readonly expires: string
  readonly passthrough: ApiKey['passthrough']
  /** null: all. */
  readonly mcp_servers: readonly string[] | null
  /** Lifetime of cached answers; empty: off. */
  readonly cache_ttl: string
  /** Last day on which bodies are recorded. */
  readonly log_bodies_until: string
  /** JSON; empty: none. */
  readonly metadata: string
}

export const emptyDraft: KeyDraft = {
  label: '',
  owner_id: '',
  user_id: '',
  team_id: '',
  role: 'user',
  models: [],
  max_budget: '',
  soft_budget: '',
  budget_duration: '1mo',
  rpm_limit: '',
  tpm_limit: '',
  max_parallel_requests: '',
  expires: '',
  passthrough: [],
  mcp_servers: null,
  cache_ttl: '',
  log_bodies_until: '',
  metadata: '',
}

/** Returns the form of an existing key. */
export const draftOf = (key: ApiKey): KeyDraft => ({
  label: key.label,
  owner_id: key.owner_id ?? '',
  user_id: key.user_id ?? '',
  team_id: key.team_id ?? '',
  role: key.role,
  models: key.models,
  max_budget: key.max_budget ?? '',
  soft_budget: key.soft_budget ?? '',
  budget_duration: key.budget_duration ?? (key.max_budget === null ? emptyDraft.budget_duration : ''),
  rpm_limit: key.rpm_limit ?? '',
  tpm_limit: key.tpm_limit ?? '',
  max_parallel_requests: key.max_parallel_requests ?? '',
  expires: key.expires_at === null ? '' : dayOf(new Date(key.expires_at)),
  passthrough: key.passthrough,
  mcp_servers: key.mcp_servers,
  cache_ttl: key.cache?.ttl ?? '',
  log_bodies_until: key.log_bodies === null ? '' : dayOf(new Date(key.log_bodies.until)),
  metadata: Object.keys(key.metadata).length === 0 ? '' : JSON.stringify(key.metadata, null, 2),
})

/** Returns the fields that differ from `before`, for create and update. The metadata must be valid. */
export function keyWrite(draft: KeyDraft, before: KeyDraft): ApiKeyWrite {
  const old = fieldsOf(before)
  const changed = Object.entries(fieldsOf(draft)).filter(
    ([name, value]) => JSON.stringify(value) !== JSON.stringify(old[name as keyof typeof old]),
  )
  return Object.fromEntries(changed)
}

const amount = (value: Amount): number | null => (value === '' ? null : value)
const text = (value: string): string | null => (value.trim() === '' ? null : value.trim())

const fieldsOf = (draft: KeyDraft) =>
  ({
    label: draft.label.trim(),
    owner_id: text(draft.owner_id),
    user_id: text(draft.user_id),
    team_id: text(draft.team_id),
    role: draft.role,
    models: [...draft.models],
    max_budget: amount(draft.max_budget),
    soft_budget: amount(draft.soft_budget),
    // Without an amount there is nothing to reset.
    budget_duration: draft.max_budget === '' && draft.soft_budget === '' ? null : text(draft.budget_duration),
    rpm_limit: amount(draft.rpm_limit),
    tpm_limit: amount(draft.tpm_limit),
    max_parallel_requests: amount(draft.max_parallel_requests),
    expires_at: endOf(draft.expires),
    passthrough: [...draft.passthrough],
    mcp_servers: draft.mcp_servers && [...draft.mcp_servers],
    cache: draft.cache_ttl.trim() === '' ? null : { ttl: draft.cache_ttl.trim() },
    log_bodies: draft.log_bodies_until === '' ? null : { until: endOf(draft.log_bodies_until) ?? '' },
    metadata: { ...objectIn(draft.metadata) },
  }) satisfies ApiKeyWrite

/** What the sentence of the form says. */
export const rightsOf = (draft: KeyDraft): KeyRights => fieldsOf(draft)

const two = (value: number): string => String(value).padStart(2, '0')

/** `2026-12-31` in the zone of the person. */
export const dayOf = (date: Date): string => `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`

/** Returns the last second of a day in the zone of the person; null for an empty one. */
function endOf(day: string): string | null {
  const date = new Date(`${day}T23:59:59`)
  return Number.isNaN(date.getTime()) ? null : date.toISOString()
}

/** Returns the names of models that an entry of a key covers: a name, or a beginning and `*`. */
export const matchesOf = (entry: string, models: readonly string[]): readonly string[] =>
  models.filter(name => name === entry || (entry.endsWith('*') && name.startsWith(entry.slice(0, -1))))
