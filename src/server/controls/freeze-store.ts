import type { Pool, PoolClient } from 'pg'
import { hint } from '../db/hints.ts'

/** A row of table `freezes`. */
export interface FreezeRow {
  readonly id: string
  readonly scope: 'key' | 'owner' | 'all'
  /** Empty for `all`. */
  readonly scope_id: string
  readonly reason: string | null
  readonly is_by_limited_key: boolean
  readonly created_by: string
  readonly created_at: Date
}

export type NewFreeze = Omit<FreezeRow, 'created_at'>

/** Freezes that a caller may see: those of an owner and its keys, or of a key and its descendants. */
export interface FreezeReach {
  readonly owner: string | undefined
  readonly within: string | undefined
}

type Queryable = Pick<Pool | PoolClient, 'query'>

/** Notifies every process that a freeze was set or lifted. */
export const freezeChannel = 'spending_freezes'

const columns = 'id, scope, scope_id, reason, is_by_limited_key, created_by, created_at'

const isWithinReach = `
  (($1::text is null and $2::text is null)
   or (scope = 'owner' and scope_id = $1)
   or (scope = 'key' and exists (
     select from api_keys k where k.id = f.scope_id and ($1::text is null or owner_of_key(k.owner_id, k.user_id, k.team_id) = $1)
       and ($2::text is null or k.id = $2 or k.ancestors @> array[$2]))))`

/** Table `freezes`. */
export type FreezeStore = ReturnType<typeof freezeStore>

export function freezeStore(pool: Pool) {
  return {
    async all(): Promise<FreezeRow[]> {
      return (await pool.query<FreezeRow>({ name: 'freezes', text: `select ${columns} from freezes` })).rows
    },

    /** Returns freezes after `after`, newest first. */
    async list(
      { owner, within }: FreezeReach,
      page: { after: string | undefined; limit: number },
    ): Promise<FreezeRow[]> {
      const text = `
        select ${columns} from freezes f where ${isWithinReach} and ($3::text is null or id < $3) order by id desc limit $4`
      return (await pool.query<FreezeRow>(text, [owner, within, page.after, page.limit])).rows
    },

    /** Returns and locks the freeze; undefined when it does not exist or the caller may not see it. */
    async lock(client: PoolClient, id: string, { owner, within }: FreezeReach): Promise<FreezeRow | undefined> {
      const text = `select ${columns} from freezes f where ${isWithinReach} and id = $3 for update`
      return (await client.query<FreezeRow>(text, [owner, within, id])).rows[0]
    },

    /** Returns and locks the freeze of a scope. */
    async lockOf(
      client: PoolClient,
      { scope, scope_id }: Pick<FreezeRow, 'scope' | 'scope_id'>,
    ): Promise<FreezeRow | undefined> {
      const text = `select ${columns} from freezes where scope = $1 and scope_id = $2 for update`
      return (await client.query<FreezeRow>(text, [scope, scope_id])).rows[0]
    },

    async count(on: Queryable): Promise<number> {
      const { rows } = await on.query<{ n: number }>('select count(*)::int as n from freezes')
      return rows[0]?.n ?? 0
    },

    /** Inserts the freeze, or updates the reason of the scope's freeze; returns the row. */
    async set(client: PoolClient, freeze: NewFreeze): Promise<FreezeRow> {
      const text = `
        insert into freezes (id, scope, scope_id, reason, is_by_limited_key, created_by) values ($1, $2, $3, $4, $5, $6)
        on conflict (scope, scope_id) do update
        set reason = excluded.reason, is_by_limited_key = freezes.is_by_limited_key and excluded.is_by_limited_key
        returning ${columns}`
      const { id, scope, scope_id, reason, is_by_limited_key, created_by } = freeze
      const { rows } = await client.query<FreezeRow>(text, [id, scope, scope_id, reason, is_by_limited_key, created_by])
      hint(client, freezeChannel, '')
      const [row] = rows
      if (!row) throw new Error('upsert of a freeze returned no row')
      return row
    },

    async remove(client: PoolClient, id: string): Promise<void> {
      await client.query('delete from freezes where id = $1', [id])
      hint(client, freezeChannel, '')
    },
  }
}
