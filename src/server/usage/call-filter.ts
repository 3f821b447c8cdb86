import { type Expression, type RawBuilder, type SqlBool, sql } from 'kysely'

const filterColumns = [
  'key_id',
  'owner_id',
  'agent_id',
  'session_id',
  'alias',
  'deployment',
  'provider',
  'outcome',
  'principal',
  'request_id',
] as const
type FilterColumn = (typeof filterColumns)[number]

/** Filter of calls. */
export type CallFilter = { readonly [Column in FilterColumn]?: string | undefined } & {
  readonly from?: Date | undefined
  readonly to?: Date | undefined
  readonly agent_version?: number | undefined
  /** `429`, or `4xx` for a class. */
  readonly status?: string | undefined
  /** Exact decimal. */
  readonly min_cost_usd?: string | undefined
  /** Restricts the calls to those visible to the caller, in addition to the requested filters. */
  readonly visible: { readonly [Column in FilterColumn]?: string }
}

/**
 * Version of the agent that a call's session runs. A session keeps its version and its row for good, so the ledger need
 * not copy it.
 */
export const agentVersion: RawBuilder<number | null> = sql`
  (select s.agent_version from sessions s where s.id = usage.session_id)`

/** Returns the condition on rows of table `usage`. */
export function matching({ visible, ...requested }: CallFilter): Expression<SqlBool> {
  const conditions = [requested, visible].flatMap(wanted =>
    filterColumns
      .filter(column => wanted[column] !== undefined)
      .map(column => sql`${sql.ref(column)} = ${wanted[column]}`),
  )
  conditions.push(...bounds(requested))
  return conditions.length === 0 ? sql<SqlBool>`true` : sql<SqlBool>`${sql.join(conditions, sql` and `)}`
}

function* bounds({ from, to, agent_version, status, min_cost_usd }: Omit<CallFilter, 'visible'>) {
  if (from) yield sql`created_at >= ${from}`
  if (to) yield sql`created_at < ${to}`
  if (agent_version !== undefined) yield sql`${agentVersion} = ${agent_version}`
  if (min_cost_usd !== undefined) yield sql`cost_usd >= ${min_cost_usd}::numeric`
  if (status?.endsWith('xx')) yield sql`status / 100 = ${Number(status[0])}`
  else if (status !== undefined) yield sql`status = ${Number(status)}`
}
