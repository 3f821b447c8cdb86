import type { Pool, PoolClient } from 'pg'
import { isUniqueViolation, transaction } from '../db/connect.ts'
import { copyRows } from '../db/copy-rows.ts'
import { picoDollarsOf, usdOf } from '../platform/usd.ts'
import { columns, type SoftLimitPassed, type UsageRow } from './rows.ts'

/** What a slice of budgets gives up; see `budgets/slices.ts`. */
export interface SliceShare {
  readonly id: string
  /** US dollars that no call will draw from it, as an exact decimal. */
  readonly backUsd: string
  /** True: all its calls have ended, and what is left of it is given back. */
  readonly isOver: boolean
  /** True: its process has not renewed it in time, and what is left of it counts as spent. */
  readonly isLost?: boolean
}

/** Calls that are not held by a reservation of their own. */
export interface Batch {
  /** Tells the batch when it is sent again. */
  readonly id: string
  readonly rows: readonly UsageRow[]
  readonly shares: readonly SliceShare[]
}

/** What one slice, or one set of payers without a slice, is told. */
interface Entry extends Partial<Record<'key' | 'owner' | 'agent' | 'session', string | null | undefined>> {
  readonly slice?: string
  pico: bigint
  back?: string
  is_over?: boolean
  is_lost?: boolean
}

/** A transaction and COPY cost as much as so many rows that are given as JSON. */
const fewRows = 16

/** Without a time that it is told the function reads the clock once the budgets are locked. */
const bookText = (clock: string | undefined) => `
  with booked as (
    insert into usage (${columns.join(', ')}, created_at)
    select ${columns.join(', ')}, ${clock ?? 'clock_timestamp()'} from json_populate_recordset(null::usage, $1)
  )
  select * from book_costs($2, $3, ${clock ?? 'null'})`

const costsText = (clock: string | undefined) => `select * from book_costs($1, $2, ${clock ?? 'null'})`

const writtenText = 'select count(*)::integer as rows from usage where request_id = any ($1::text[])'

/** Adds rows to the ledger in bulk: COPY, and one write to each budget. `clock`: SQL that reads the time for tests. */
export function bookStore(pool: Pool, clock: string | undefined) {
  const texts = { book: bookText(clock), costs: costsText(clock) }

  const bookFew = async ({ id, rows }: Batch, entries: string): Promise<readonly SoftLimitPassed[]> => {
    const query = { name: 'book', text: texts.book, values: [JSON.stringify(rows), entries, id] }
    return (await pool.query<SoftLimitPassed>(query)).rows
  }

  const bookMany = ({ id, rows }: Batch, entries: string): Promise<readonly SoftLimitPassed[]> =>
    transaction(pool, async client => {
      await copyInto(client, rows)
      const query = { name: 'book_costs', text: texts.costs, values: [entries, id] }
      return (await client.query<SoftLimitPassed>(query)).rows
    })

  const write = async (batch: Batch): Promise<readonly SoftLimitPassed[]> => {
    const { rows, shares } = batch
    const entries = entriesOf(rows, shares)
    if (rows.length < fewRows) return bookFew(batch, JSON.stringify(entries))
    if (entries.length > 0) return bookMany(batch, JSON.stringify(entries))
    await copyInto(pool, rows)
    return []
  }

  /** True when the batch is in effect already: it came in one piece, and its answer was lost. */
  const isWritten = async ({ rows }: Batch): Promise<boolean> => {
    const ids = rows.map(({ request_id }) => request_id)
    const found = await pool.query<{ rows: number }>({ name: 'written', text: writtenText, values: [ids] })
    return found.rows[0]?.rows === rows.length
  }

  return {
    /**
     * Books all of a batch or nothing, and says whose soft limits were passed. A batch of unknown fate may be sent once more
     * as it was. Rejects when some of its rows, but not all, are written already.
     */
    async book(batch: Batch): Promise<readonly SoftLimitPassed[]> {
      try {
        return await write(batch)
      } catch (error) {
        if (isUniqueViolation(error) && (await isWritten(batch))) return []
        throw error
      }
    },
  }
}

const copyInto = (on: Pool | PoolClient, rows: readonly UsageRow[]): Promise<void> =>
  copyRows(on, { table: 'usage', columns, rows })

function entriesOf(rows: readonly UsageRow[], shares: readonly SliceShare[]): readonly object[] {
  const entries = new Map<string, Entry>()
  const entryOf = (name: string, make: () => Entry): Entry => {
    const known = entries.get(name) ?? make()
    entries.set(name, known)
    return known
  }
  for (const { slice_id, key_id: key, owner_id: owner, agent_id: agent, session_id: session, cost_usd } of rows) {
    const slice = slice_id ?? undefined
    if (slice === undefined && !key && !owner && !agent && !session) continue
    const name = slice ?? JSON.stringify([key, owner, agent, session])
    const entry = entryOf(name, () => ({ ...(slice && { slice }), key, owner, agent, session, pico: 0n }))
    if (cost_usd) entry.pico += picoDollarsOf(cost_usd)
  }
  for (const { id, backUsd, isOver, isLost } of shares) {
    const entry = entryOf(id, () => ({ slice: id, pico: 0n }))
    entry.back = usdOf(picoDollarsOf(entry.back ?? '0') + picoDollarsOf(backUsd))
    entry.is_over ||= isOver
    if (isLost) entry.is_lost = true
  }
  return [...entries.values()].map(({ pico, ...entry }) => ({ ...entry, usd: usdOf(pico) }))
}
