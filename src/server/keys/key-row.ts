import type { ApiKey, CacheSettings, KeyRole, LogBodies, McpToolLists } from '../../contract/keys.ts'
import type { NativeProvider } from '../../contract/native.ts'
import type { BudgetLimits } from '../budgets/store.ts'

/** Fields of a key that callers can set, without its limits. */
export interface KeyFields {
  readonly label: string
  readonly owner_id: string | null
  readonly user_id: string | null
  readonly team_id: string | null
  readonly role: KeyRole
  readonly models: readonly string[]
  readonly passthrough: readonly NativeProvider[]
  readonly mcp_servers: readonly string[] | null
  readonly mcp_tools: McpToolLists | null
  readonly cache: CacheSettings | null
  readonly log_bodies: LogBodies | null
  readonly metadata: ApiKey['metadata']
  readonly expires_at: Date | null
}

/** A key with its budget. */
export interface KeyRow extends KeyFields, BudgetLimits {
  readonly id: string
  /** Key that created this one; null for the master key. */
  readonly parent_id: string | null
  /** The parent, its parent and so on. */
  readonly ancestors: readonly string[]
  /** Owner and role before the user of the key limits them; `owner_id` and `role` are those that apply. */
  readonly stored: Pick<KeyFields, 'owner_id' | 'role'>
  /** True for the key behind the console sign-ins of a user. */
  readonly is_sign_in: boolean
  readonly prefix: string
  readonly last4: string
  readonly revoked_at: Date | null
  readonly last_used_at: Date | null
  readonly created_by: string
  readonly created_at: Date
  readonly spent_usd: string
  readonly reserved_usd: string
  readonly reset_at: Date | null
}

const timeOf = (date: Date | null): string | null => date?.toISOString() ?? null
const usdOf = (amount: string | null): number | null => (amount === null ? null : Number(amount))

/** Fields of a key with their API names, for the audit log as well. Contains no secret. */
export const publicFields = (row: KeyRow) => ({
  parent_id: row.parent_id,
  label: row.label,
  owner_id: row.owner_id,
  user_id: row.user_id,
  team_id: row.team_id,
  is_sign_in: row.is_sign_in,
  role: row.role,
  models: [...row.models],
  passthrough: [...row.passthrough],
  mcp_servers: row.mcp_servers && [...row.mcp_servers],
  mcp_tools: row.mcp_tools,
  cache: row.cache,
  log_bodies: row.log_bodies,
  max_budget: usdOf(row.max_usd),
  soft_budget: usdOf(row.soft_usd),
  budget_duration: row.duration,
  rpm_limit: row.rpm_limit,
  tpm_limit: row.tpm_limit,
  max_parallel_requests: row.max_parallel,
  metadata: row.metadata,
  prefix: row.prefix,
  last4: row.last4,
  expires_at: timeOf(row.expires_at),
  revoked_at: timeOf(row.revoked_at),
})

/** Returns the API object of a key. */
export const toApiKey = (row: KeyRow): ApiKey => ({
  id: row.id,
  ...publicFields(row),
  budget_reset_at: timeOf(row.reset_at),
  spend: Number(row.spent_usd),
  reserved: Number(row.reserved_usd),
  created_at: row.created_at.toISOString(),
  created_by: row.created_by,
  last_used_at: timeOf(row.last_used_at),
})
