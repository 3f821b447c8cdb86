import { coversModel } from '../../contract/keys.ts'
import type { BudgetLimits } from '../budgets/store.ts'
import { isAtLeastAsLong } from './durations.ts'
import type { KeyFields } from './key-row.ts'

type Strength = Pick<
  KeyFields,
  'owner_id' | 'user_id' | 'team_id' | 'models' | 'passthrough' | 'mcp_servers' | 'mcp_tools' | 'expires_at'
> &
  BudgetLimits

/** Returns the first field in which `key` exceeds `own`; undefined if there is none. Security: S08, S09. */
export function strongerField(key: Strength, own: Strength): string | undefined {
  const claims: readonly (readonly [field: string, isWithin: boolean])[] = [
    ['owner_id', own.owner_id === null || key.owner_id === own.owner_id],
    ['user_id', own.user_id === null || key.user_id === own.user_id],
    ['team_id', own.team_id === null || key.team_id === own.team_id],
    ['models', areModelsWithin(key.models, own.models)],
    ['passthrough', key.passthrough.every(provider => own.passthrough.includes(provider))],
    ['mcp_servers', own.mcp_servers === null || isSubset(key.mcp_servers, own.mcp_servers)],
    ['mcp_tools', areToolsWithin(key, own)],
    ['expires_at', isWithin(key.expires_at?.getTime() ?? null, own.expires_at?.getTime() ?? null)],
    ['max_budget', isWithin(usdOf(key), usdOf(own))],
    ['budget_duration', isPeriodWithin(key, own)],
    ['rpm_limit', isWithin(key.rpm_limit, own.rpm_limit)],
    ['tpm_limit', isWithin(key.tpm_limit, own.tpm_limit)],
    ['max_parallel_requests', isWithin(key.max_parallel, own.max_parallel)],
  ]
  return claims.find(([, within]) => !within)?.[0]
}

/** Null means no limit. */
const isWithin = (value: number | null, limit: number | null): boolean =>
  limit === null || (value !== null && value <= limit)

// Exact: the text came from a JSON number.
const usdOf = ({ max_usd }: BudgetLimits): number | null => (max_usd === null ? null : Number(max_usd))

/** Null is the list of everything. */
const isSubset = (names: readonly string[] | null | undefined, own: readonly string[]): boolean =>
  names?.every(name => own.includes(name)) ?? false

/** Each restricted server of `own` must be restricted in `key` too, by the same name. */
const areToolsWithin = (key: Strength, own: Strength): boolean =>
  Object.entries(own.mcp_tools ?? {}).every(([server, tools]) => isSubset(key.mcp_tools?.[server], tools))

const areModelsWithin = (models: readonly string[], own: readonly string[]): boolean =>
  own.length === 0 || (models.length > 0 && models.every(name => coversModel(own, name)))

/** A shorter period makes a budget larger. Null means that the budget is never reset. */
function isPeriodWithin(key: BudgetLimits, own: BudgetLimits): boolean {
  if (own.max_usd === null || key.duration === null) return true
  return own.duration !== null && isAtLeastAsLong(key.duration, own.duration)
}
