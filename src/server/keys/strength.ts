import { coversModel } from '../../contract/keys.ts'
import type { BudgetLimits } from '../budgets/store.ts'
import { namedList } from '../platform/named-list.ts'
import { isAtLeastAsLong } from './durations.ts'
import type { KeyFields } from './key-row.ts'

type Strength = Pick<
  KeyFields,
  'owner_id' | 'user_id' | 'team_id' | 'models' | 'passthrough' | 'mcp_servers' | 'mcp_tools' | 'expires_at'
> &
  BudgetLimits

/** Field in which a key exceeds another one, and what that one allows there, such as `5.00 USD`. */
export interface ExceededLimit {
  readonly field: string
  readonly limit: string
}

/** Returns the first field in which `key` exceeds `own`; undefined if there is none. Security: S08, S09. */
export function exceededLimit(key: Strength, own: Strength): ExceededLimit | undefined {
  const claims: readonly (readonly [field: string, isWithin: boolean, limit: string])[] = [
    ['owner_id', own.owner_id === null || key.owner_id === own.owner_id, `${own.owner_id}`],
    ['user_id', own.user_id === null || key.user_id === own.user_id, `${own.user_id}`],
    ['team_id', own.team_id === null || key.team_id === own.team_id, `${own.team_id}`],
    ['models', areModelsWithin(key.models, own.models), allowed(own.models)],
    ['passthrough', isSubset(key.passthrough, own.passthrough), allowed(own.passthrough)],
    ['mcp_servers', own.mcp_servers === null || isSubset(key.mcp_servers, own.mcp_servers), allowed(own.mcp_servers)],
    ['mcp_tools', areToolsWithin(key, own), allowed(toolNames(own))],
    ['expires_at', isWithin(timeOf(key), timeOf(own)), `${own.expires_at?.toISOString()}`],
    ['max_budget', isWithin(usdOf(key), usdOf(own)), `${dollars.format(usdOf(own) ?? 0)} USD`],
    ['budget_duration', isPeriodWithin(key, own), own.duration ?? 'its budget is never reset'],
    ['rpm_limit', isWithin(key.rpm_limit, own.rpm_limit), `${own.rpm_limit} requests per minute`],
    ['tpm_limit', isWithin(key.tpm_limit, own.tpm_limit), `${own.tpm_limit} tokens per minute`],
    ['max_parallel_requests', isWithin(key.max_parallel, own.max_parallel), `${own.max_parallel}`],
  ]
  const exceeded = claims.find(([, within]) => !within)
  return exceeded && { field: exceeded[0], limit: exceeded[2] }
}

const dollars = new Intl.NumberFormat('en-US', {
  minimumFractionDigits: 2,
  maximumFractionDigits: 12,
  useGrouping: false,
})

const maxNamed = 10

const allowed = (names: readonly string[] | null): string => `allowed: ${namedList(names ?? [], maxNamed) || 'none'}`

const toolNames = ({ mcp_tools }: Strength): readonly string[] =>
  Object.entries(mcp_tools ?? {}).flatMap(([server, tools]) => tools.map(tool => `${server}/${tool}`))

/** Null means no limit. */
const isWithin = (value: number | null, limit: number | null): boolean =>
  limit === null || (value !== null && value <= limit)

const timeOf = ({ expires_at }: Strength): number | null => expires_at?.getTime() ?? null

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
