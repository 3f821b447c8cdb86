import type { Pool, PoolClient } from 'pg'
import { isUniqueViolation, transaction } from '../db/connect.ts'
import { copyRows } from '../db/copy-rows.ts'
import { picoDollarsOf, usdOf } from '../platform/usd.ts'
import { columns, type SoftLimitPassed, type UsageRow } from './rows.ts'

/** Amount that a slice of budgets releases; see `budgets/slices.ts`. */
export interface SliceShare {
  readonly id: string
  /** US dollars to release, as an exact decimal. */
  readonly unusedUsd: string
  /** True once all its calls have ended: the rest of the slice is released. */
  readonly isOver: boolean
  /** True if the slice expired without renewal: the rest of it counts as spent. */
  readonly isLost?: boolean
}

/** Calls without a separate reservation. */
export interface Batch {
  /** Identifies the batch if it is sent again. */
  readonly id: string
  readonly rows: readonly UsageRow[]
  readonly shares: readonly SliceShare[]
}

/** Sums of one slice, or of one set of payers without a slice. */
interface Entry extends Partial<Record<'key' | 'owner' | 'agent' | 'session', string | null | undefined>> {
  readonly slice?: string
  pico: bigint
  back?: string
  is_over?: boolean
  is_lost?: boolean
}

/** From this number of rows on a transaction with COPY is faster than rows passed as JSON. */
const fewRows = 16

/** With null as the time the function reads the clock after it locks the budgets. */
const bookText = (clock: string | undefined) => `
  with booked as (
    insert into usage (${columns.join(', ')}, created_at)
    select ${columns.join(', ')}, ${clock ?? 'clock_timestamp()'} from json_populate_recordset(null::usage, $1)
  )
  select * from book_costs($2, $3, ${clock ?? 'null'})`

const costsText = (clock: string | undefined) => `select * from book_costs($1, $2, ${clock ?? 'null'})`

const writtenText = 'select count(*)::integer as rows from usage where request_id = any ($1::text[])'

/** Adds rows to the ledger in bulk: COPY, and one write per budget. `clock`: SQL that reads the time, for tests. */
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

  /** True if the batch was committed before: all of its rows exist. */
  const isWritten = async ({ rows }: Batch): Promise<boolean> => {
    const ids = rows.map(({ request_id }) => request_id)
    const found = await pool.query<{ rows: number }>({ name: 'written', text: writtenText, values: [ids] })
    return found.rows[0]?.rows === rows.length
  }

  return {
    /**
     * Books a batch atomically. Returns the budgets that reached their soft limit. A batch whose commit is uncertain
     * may be sent again unchanged. Rejects if only some of its rows exist.
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
    const entry = entries.get(name) ?? make()
    entries.set(name, entry)
    return entry
  }
  for (const { slice_id, key_id: key, owner_id: owner, agent_id: agent, session_id: session, cost_usd } of rows) {
    const slice = slice_id ?? undefined
    if (slice === undefined && !key && !owner && !agent && !session) continue
    const name = slice ?? JSON.stringify([key, owner, agent, session])
    const entry = entryOf(name, () => ({ ...(slice && { slice }), key, owner, agent, session, pico: 0n }))
    if (cost_usd) entry.pico += picoDollarsOf(cost_usd)
  }
  for (const { id, unusedUsd, isOver, isLost } of shares) {
    const entry = entryOf(id, () => ({ slice: id, pico: 0n }))
    entry.back = usdOf(picoDollarsOf(entry.back ?? '0') + picoDollarsOf(unusedUsd))
    entry.is_over ||= isOver
    if (isLost) entry.is_lost = true
  }
  return [...entries.values()].map(({ pico, ...entry }) => ({ ...entry, usd: usdOf(pico) }))
}
