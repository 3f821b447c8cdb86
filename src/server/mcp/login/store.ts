import type { Pool, PoolClient } from 'pg'
import { transaction } from '../../db/connect.ts'

/** Encrypted value of a row, with what it is bound to. */
interface Sealed {
  readonly url: string
  readonly version: number
  readonly sealed: Buffer
  readonly key_id: string
}

/** Place of a login: a principal at a server. */
export interface LoginPlace {
  readonly server_id: string
  readonly principal: string
}

export interface AuthorizationRow extends LoginPlace, Sealed {
  readonly state_hash: string
}

export interface LoginRow extends LoginPlace, Sealed {}

const columns = 'server_id, principal, url, version, sealed, key_id'
const maxOpen = 20

/** Tables `mcp_authorizations` and `mcp_logins`. */
export type LoginStore = ReturnType<typeof loginStore>

export function loginStore(pool: Pool) {
  return {
    transaction: <T>(work: (client: PoolClient) => Promise<T>): Promise<T> => transaction(pool, work),

    /** Stores a login that has begun. Only the newest ones of a principal at a server stay open. */
    async begin(row: AuthorizationRow, lifeMs: number): Promise<void> {
      await transaction(pool, async client => {
        const insert = `
          insert into mcp_authorizations (state_hash, ${columns}, expires_at)
          values ($1, $2, $3, $4, $5, $6, $7, clock_timestamp() + $8::float8 * interval '1 millisecond')`
        const { state_hash, server_id, principal, url, version, sealed, key_id } = row
        await client.query(insert, [state_hash, server_id, principal, url, version, sealed, key_id, lifeMs])
        const prune = `
          delete from mcp_authorizations where server_id = $1 and principal = $2 and state_hash not in (
            select state_hash from mcp_authorizations where server_id = $1 and principal = $2
            order by expires_at desc limit ${maxOpen})`
        await client.query(prune, [server_id, principal])
      })
    },

    /** Returns a login that has begun; undefined if it was used or has expired. */
    async open(stateHash: string): Promise<AuthorizationRow | undefined> {
      const text = `
        select state_hash, ${columns} from mcp_authorizations
        where state_hash = $1 and expires_at > clock_timestamp()`
      return (await pool.query<AuthorizationRow>(text, [stateHash])).rows[0]
    },

    /** Returns and deletes a login that has begun; undefined if it was used or has expired. */
    async take(stateHash: string): Promise<AuthorizationRow | undefined> {
      const text = `
        delete from mcp_authorizations where state_hash = $1
        returning state_hash, ${columns}, expires_at > clock_timestamp() as is_open`
      const [row] = (await pool.query<AuthorizationRow & { is_open: boolean }>(text, [stateHash])).rows
      return row?.is_open ? row : undefined
    },

    /** Returns the login of a principal at this address of a server. */
    async find({ server_id, principal }: LoginPlace, url: string): Promise<LoginRow | undefined> {
      const text = `select ${columns} from mcp_logins where server_id = $1 and principal = $2 and url = $3`
      return (await pool.query<LoginRow>(text, [server_id, principal, url])).rows[0]
    },

    /** Returns the addresses at which a principal is logged in, by the ids of their servers. */
    async addressesOf(principal: string): Promise<ReadonlyMap<string, string>> {
      const text = 'select server_id, url from mcp_logins where principal = $1'
      const { rows } = await pool.query<Pick<LoginRow, 'server_id' | 'url'>>(text, [principal])
      return new Map(rows.map(({ server_id, url }) => [server_id, url]))
    },

    /** Stores a login in place of the one before. */
    async set(client: PoolClient, row: LoginRow): Promise<void> {
      const text = `
        insert into mcp_logins (${columns}) values ($1, $2, $3, $4, $5, $6)
        on conflict (server_id, principal) do update set url = excluded.url, version = excluded.version,
          sealed = excluded.sealed, key_id = excluded.key_id, refreshing_until = null`
      await client.query(text, [row.server_id, row.principal, row.url, row.version, row.sealed, row.key_id])
    },

    /** Makes the caller the only one that refreshes this version, for `leaseMs`; false if another one does. */
    async claimRefresh({ server_id, principal, version }: LoginRow, leaseMs: number): Promise<boolean> {
      const text = `
        update mcp_logins set refreshing_until = clock_timestamp() + $4::float8 * interval '1 millisecond'
        where server_id = $1 and principal = $2 and version = $3
          and (refreshing_until is null or refreshing_until < clock_timestamp())`
      return (await pool.query(text, [server_id, principal, version, leaseMs])).rowCount === 1
    },

    /** Ends a claim without new tokens. */
    async releaseRefresh({ server_id, principal, version }: LoginRow): Promise<void> {
      const text = `update mcp_logins set refreshing_until = null where server_id = $1 and principal = $2 and version = $3`
      await pool.query(text, [server_id, principal, version])
    },

    /** Stores refreshed tokens; false if the login was replaced or deleted meanwhile. */
    async refreshed(before: LoginRow, after: LoginRow): Promise<boolean> {
      const text = `
        update mcp_logins set version = $4, sealed = $5, key_id = $6, refreshing_until = null
        where server_id = $1 and principal = $2 and version = $3`
      const { server_id, principal, version, sealed, key_id } = after
      const { rowCount } = await pool.query(text, [server_id, principal, before.version, version, sealed, key_id])
      return rowCount === 1
    },

    /** Deletes a login, of one version only if it is given; false if there is none. */
    async remove(on: PoolClient | undefined, { server_id, principal }: LoginPlace, version?: number): Promise<boolean> {
      const text = `
        delete from mcp_logins where server_id = $1 and principal = $2 and ($3::bigint is null or version = $3)`
      return (await (on ?? pool).query(text, [server_id, principal, version ?? null])).rowCount === 1
    },
  }
}
