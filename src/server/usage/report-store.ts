import { type Kysely, type RawBuilder, sql } from 'kysely'
import type { UsageCall, UsageDimension, UsageFigures, UsageGroup } from '../../contract/usage.ts'
import { isOlderThan, place } from '../db/by-time.ts'
import type { Database } from '../db/database.ts'
import { agentVersion, type CallFilter, matching } from './call-filter.ts'
import { type Percentiles, readSums, rounded, sumStatement, timeColumn, toMilliseconds } from './sums.ts'

export interface ReportOf {
  readonly filter: CallFilter & { readonly from: Date; readonly to: Date }
  readonly groupBy: readonly UsageDimension[]
  /** IANA name; days begin at midnight of this zone. */
  readonly timezone: string
  /** Maximum number of groups. */
  readonly limit: number
}

interface Report {
  readonly totals: UsageFigures
  readonly groups: UsageGroup[]
  readonly has_more: boolean
}

/** A call and its position, for cursors. */
interface ListedCall {
  readonly call: UsageCall
  readonly place: string
}

const plain: Readonly<Record<Exclude<UsageDimension, 'day' | 'hour'>, RawBuilder<string | null>>> = {
  key: sql`key_id`,
  owner: sql`owner_id`,
  agent: sql`agent_id`,
  version: sql`${agentVersion}::text`,
  session: sql`session_id`,
  model: sql`alias`,
  deployment: sql`deployment`,
  provider: sql`provider`,
  outcome: sql`outcome`,
}

const columnOf = (dimension: UsageDimension, timezone: string): RawBuilder<string | null> =>
  dimension === 'day' || dimension === 'hour' ? timeColumn(dimension, timezone) : plain[dimension]

const tokens = (kind: string) => sql`sum(${sql.ref(`${kind}_tokens`)})::bigint as ${sql.ref(`${kind}_tokens`)}`

const withOutcome = (outcome: string) =>
  sql`count(*) filter (where outcome = ${sql.lit(outcome)}) as ${sql.ref(`${outcome}_requests`)}`

/** Sums of a set of calls, with the names of the API. */
const figures = sql.join([
  sql`count(*) as requests`,
  ...['failed', 'aborted', 'lost'].map(withOutcome),
  ...['input', 'cache_read', 'cache_write_5m', 'cache_write_1h', 'output', 'reasoning'].map(tokens),
  sql`sum(web_searches)::bigint as web_searches`,
  sql`trim_scale(sum(cost_usd))::text as cost_usd`,
  sql`count(*) - count(cost_usd) as unpriced_requests`,
  sql`count(*) filter (where cached) as cached_requests`,
  sql`count(*) filter (where estimated) as estimated_requests`,
  sql`array_agg(distinct price_source) filter (where price_source is not null) as price_sources`,
  sql`percentile_cont(array[0.5, 0.95]) within group (order by first_content_ms) as first_content_ms`,
  sql`percentile_cont(array[0.5, 0.95]) within group (order by total_ms) as total_ms`,
])

type SumRow = Omit<UsageFigures, 'first_content_ms' | 'total_ms' | 'price_sources'> & {
  readonly price_sources: string[] | null
  readonly first_content_ms: Percentiles
  readonly total_ms: Percentiles
}

export type ReportStore = ReturnType<typeof reportStore>

/** Reads table `usage`: sums and single calls. */
export function reportStore(db: Kysely<Database>) {
  return {
    /**
     * Returns totals and groups from one snapshot. Groups are sorted by time, oldest first, then by cost, highest
     * first.
     */
    async report({ filter, groupBy, timezone, limit }: ReportOf): Promise<Report> {
      const statement = sumStatement<SumRow, UsageDimension>({
        table: 'usage',
        where: matching(filter),
        groupBy,
        columnOf: dimension => columnOf(dimension, timezone),
        figures,
        order: [sql`sum(cost_usd) desc nulls last`, sql`requests desc`],
        limit,
      })
      return readSums(db, statement, { groupBy, limit, toFigures })
    },

    /** Returns calls, newest first. */
    async calls(filter: CallFilter, page: { after: string | undefined; limit: number }): Promise<ListedCall[]> {
      let all = db
        .selectFrom('usage')
        .where(matching(filter))
        .selectAll()
        .select([place.as('place'), agentVersion.as('agent_version')])
      if (page.after !== undefined) all = all.where(isOlderThan(page.after))
      const rows = await all.orderBy('created_at', 'desc').orderBy('id', 'desc').limit(page.limit).execute()
      return rows.map(({ place, alias, created_at, cost_usd, held_usd, ...row }) => ({
        place,
        call: {
          ...row,
          model: alias,
          created_at: created_at.toISOString(),
          cost_usd: cost_usd && trimmed(cost_usd),
          held_usd: held_usd && trimmed(held_usd),
          cached: row.cached === true,
          first_content_ms: row.first_content_ms === null ? null : rounded(row.first_content_ms, 1_000),
          total_ms: rounded(row.total_ms, 1_000),
        },
      }))
    },
  }
}

/** SQL sums over no rows are null: they become 0, except for a cost that is unknown. */
const toFigures = (row: SumRow): UsageFigures => ({
  requests: row.requests,
  failed_requests: row.failed_requests,
  aborted_requests: row.aborted_requests,
  lost_requests: row.lost_requests,
  input_tokens: row.input_tokens ?? 0,
  cache_read_tokens: row.cache_read_tokens ?? 0,
  cache_write_5m_tokens: row.cache_write_5m_tokens ?? 0,
  cache_write_1h_tokens: row.cache_write_1h_tokens ?? 0,
  output_tokens: row.output_tokens ?? 0,
  reasoning_tokens: row.reasoning_tokens ?? 0,
  web_searches: row.web_searches ?? 0,
  cost_usd: row.cost_usd ?? (row.requests === 0 ? '0' : null),
  unpriced_requests: row.unpriced_requests,
  cached_requests: row.cached_requests,
  estimated_requests: row.estimated_requests,
  price_sources: row.price_sources ?? [],
  first_content_ms: toMilliseconds(row.first_content_ms),
  total_ms: toMilliseconds(row.total_ms),
})

/** Removes trailing zeros, which numeric arithmetic in SQL produces. */
const trimmed = (decimal: string): string => (decimal.includes('.') ? decimal.replace(/[.]?0+$/, '') : decimal)
