import type { KeyDraft } from './key-draft.ts'

/** Fields of a key that errors of the service name. */
export const keyFields = [
  'label',
  'owner_id',
  'user_id',
  'team_id',
  'role',
  'models',
  'max_budget',
  'soft_budget',
  'budget_duration',
  'rpm_limit',
  'tpm_limit',
  'max_parallel_requests',
  'expires_at',
  'passthrough',
  'mcp_servers',
  'cache',
  'log_bodies',
  'metadata',
] as const
/** Those of `MoreSettings`. */
export const rareFields = ['soft_budget', 'passthrough', 'mcp_servers', 'cache', 'log_bodies', 'metadata'] as const
type Field = (typeof keyFields)[number]

/** Props of the parts of the form. */
export interface FieldsProps {
  readonly draft: KeyDraft
  readonly set: (changes: Partial<KeyDraft>) => void
  readonly errorAt: (field: Field) => string | undefined
}

/** Number fields report an empty text when they are cleared. */
export const amountOf = (value: number | string): number | '' => (typeof value === 'number' ? value : '')
