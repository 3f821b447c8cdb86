import type { Pool, PoolClient } from 'pg'
import { hint } from '../db/hints.ts'
import { actualOwner, actualRole, grantStore } from './grant-store.ts'
import { keyChannel } from './key-channel.ts'
import type { KeyFields, KeyRow } from './key-row.ts'
import { signInStore } from './sign-in-store.ts'

interface NewKeyRow extends KeyFields {
  readonly id: string
  readonly prefix: string
  readonly last4: string
  readonly created_by: string
  readonly parent_id: string | null
  readonly ancestors: readonly string[]
  readonly is_sign_in?: boolean
}

/** Whom a key belongs to. */
type Holder = Pick<KeyFields, 'user_id' | 'team_id' | 'owner_id'>

interface HolderCheck {
  readonly has_user: boolean
  readonly has_team: boolean
  readonly is_member: boolean
  /** True if the user may act as the owner. */
  readonly is_own: boolean
}

/** Restricts keys to those visible to a caller. */
export interface Reach {
  /** Only keys of this owner; undefined for any. */
  readonly owner: string | undefined
  /** Only this key and its descendants; undefined for any. */
  readonly within: string | undefined
}

/** Selects keys of a list. */
export interface KeyFilter {
  /** Only children of this key; undefined for any. */
  readonly parent: string | undefined
  /** Only keys of this user; undefined for any. */
  readonly user: string | undefined
  /** Only keys of this team; undefined for any. */
  readonly team: string | undefined
  /** Part of the label, in any case, or the id, the prefix or the last characters; undefined or empty for any. */
  readonly q: string | undefined
  readonly withRevoked: boolean
  /** Last id of the previous page. */
  readonly after: string | undefined
  readonly limit: number
}

type Queryable = Pick<Pool, 'query'>

const records = `
  select k.id, k.parent_id, k.ancestors, k.label, ${actualOwner} as owner_id, ${actualRole} as role, json_build_object('owner_id', k.owner_id, 'role', k.role) as stored,
         k.user_id, k.team_id, k.is_sign_in, k.models, k.passthrough, k.mcp_servers, k.mcp_tools, k.cache, k.log_bodies, k.metadata, k.prefix,
         k.last4, k.expires_at, k.revoked_at, k.last_used_at, k.created_by, k.created_at, b.max_usd, b.soft_usd, b.duration, b.rpm_limit, b.tpm_limit,
         b.max_parallel, b.reserved_usd,
         case when b.reset_at <= clock_timestamp() then 0 else b.spent_usd end as spent_usd,
         case when b.reset_at <= clock_timestamp() then budget_period_end(b.anchored_at, b.duration, clock_timestamp())
              else b.reset_at end as reset_at
  from api_keys k join budgets b on b.scope = 'key' and b.scope_id = k.id`

/** SQL that is true for visible keys. A limited key also sees itself. */
const isWithinReach = (owner: string, within: string): string => `
  (${owner}::text is null or ${actualOwner} = ${owner})
  and (${within}::text is null or k.id = ${within} or k.ancestors @> array[${within}])`

/** Tables `api_keys` and `api_key_hashes`. Reads limits from table `budgets`, which the budget store writes. */
export type KeyStore = ReturnType<typeof keyStore>

export function keyStore(pool: Pool) {
  return {
    ...grantStore(pool),
    ...signInStore(pool),

    /** Returns a key, even if revoked; undefined if it does not exist or is not visible. */
    async find(id: string, { owner, within }: Reach, on: Queryable = pool): Promise<KeyRow | undefined> {
      const text = `${records} where k.id = $1 and ${isWithinReach('$2', '$3')}`
      return (await on.query<KeyRow>(text, [id, owner, within])).rows[0]
    },

    /** Like `find`, and locks the key for the rest of the transaction. */
    async lock(client: PoolClient, id: string, { owner, within }: Reach): Promise<KeyRow | undefined> {
      const text = `${records} where k.id = $1 and ${isWithinReach('$2', '$3')} for update of k`
      return (await client.query<KeyRow>(text, [id, owner, within])).rows[0]
    },

    /** Locks a key and its ancestors against changes until the transaction ends; returns the key. */
    async lockWithAncestors(client: PoolClient, id: string): Promise<KeyRow | undefined> {
      const lock = `
        select from api_keys where id in (select unnest(id || ancestors) from api_keys where id = $1) order by id for share`
      await client.query(lock, [id])
      return (await client.query<KeyRow>(`${records} where k.id = $1`, [id])).rows[0]
    },

    /** Lists keys, newest first. */
    async list({
      owner,
      within,
      parent,
      user,
      team,
      q = '',
      withRevoked,
      after,
      limit,
    }: Reach & KeyFilter): Promise<KeyRow[]> {
      const text = `${records}
        where ($1::text is null or ${actualOwner} = $1) and ($2 or k.revoked_at is null) and ($3::text is null or k.id < $3)
          and ($5::text is null or k.ancestors @> array[$5]) and ($6::text is null or k.parent_id = $6)
          and ($8::text is null or k.user_id = $8) and ($9::text is null or k.team_id = $9)
          and ($7 = '' or position(lower($7) in lower(k.label)) > 0 or $7 in (k.id, k.prefix, k.last4))
        order by k.id desc limit $4`
      return (await pool.query<KeyRow>(text, [owner, withRevoked, after, limit, within, parent, q, user, team])).rows
    },

    /** Inserts a key. The caller must insert its row of `budgets` in the same transaction. */
    async insert(client: PoolClient, row: NewKeyRow): Promise<void> {
      const text = `
        insert into api_keys (id, label, owner_id, role, models, metadata, expires_at, passthrough, cache, log_bodies, mcp_servers, mcp_tools,
                              user_id, team_id, prefix, last4, created_by, parent_id, ancestors, is_sign_in)
        values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20)`
      const { prefix, last4, created_by, parent_id, ancestors, is_sign_in = false } = row
      const others = [prefix, last4, created_by, parent_id, ancestors, is_sign_in]
      await client.query(text, [row.id, ...valuesOf(row), ...others])
    },

    async update(client: PoolClient, id: string, fields: KeyFields): Promise<void> {
      const text = `
        update api_keys set label = $2, owner_id = $3, role = $4, models = $5, metadata = $6, expires_at = $7,
                            passthrough = $8, cache = $9, log_bodies = $10, mcp_servers = $11, mcp_tools = $12,
                            user_id = $13, team_id = $14
        where id = $1`
      await client.query(text, [id, ...valuesOf(fields)])
    },

    /** Limits the expiry time of all descendants to `expiresAt`. */
    async endDescendants(client: PoolClient, id: string, expiresAt: Date): Promise<void> {
      const text = `
        update api_keys set expires_at = $2 where ancestors @> array[$1] and (expires_at is null or expires_at > $2)`
      await client.query(text, [id, expiresAt])
    },

    /** True if there is an imported key that was not revoked. */
    async hasImported(): Promise<boolean> {
      const text = 'select from api_keys where imported_from is not null and revoked_at is null limit 1'
      return (await pool.query(text)).rows.length > 0
    },

    /** True if a key of this source exists. */
    async isImported(source: string): Promise<boolean> {
      return (await pool.query('select from api_keys where imported_from = $1', [source])).rows.length > 0
    },

    /** Returns whether the source may be imported, and locks imports until the transaction ends. */
    async claimImport(client: PoolClient, source: string): Promise<boolean> {
      // One import at a time, so that none waits for the unique index.
      await client.query(`select pg_advisory_xact_lock(hashtext('import of keys'))`)
      return (await client.query('select from api_keys where imported_from = $1', [source])).rows.length === 0
    },

    async markImported(client: PoolClient, id: string, source: string): Promise<void> {
      await client.query('update api_keys set imported_from = $2 where id = $1', [id, source])
    },

    /** Adds a valid hash to the key. */
    async addHash(client: PoolClient, id: string, hash: Buffer, validUntil: Date | null = null): Promise<void> {
      const text = 'insert into api_key_hashes (hash, key_id, valid_until) values ($1, $2, $3)'
      await client.query(text, [hash, id, validUntil])
    },

    /** Returns whether a key may have this user, team and owner, or why not. Neither can be deleted until the commit. */
    async checkHolder(client: PoolClient, { user_id, team_id, owner_id }: Holder): Promise<HolderCheck> {
      await client.query('select from users where id = $1 for key share', [user_id])
      await client.query('select from teams where id = $1 for key share', [team_id])
      const text = `
        select $1::text is null or u.id is not null as has_user, $2::text is null or t.id is not null as has_team,
               $1::text is null or $2::text is null or m.user_id is not null as is_member,
               u.role is null or u.role = 'admin' or $3::text is null or $3 in (u.owner_id, t.owner_id) as is_own
        from (select) one left join users u on u.id = $1 left join teams t on t.id = $2
          left join team_members m on m.team_id = $2 and m.user_id = $1`
      const { rows } = await client.query<HolderCheck>(text, [user_id, team_id, owner_id])
      return rows[0] ?? { has_user: false, has_team: false, is_member: false, is_own: false }
    },

    /** Expires all hashes of the key at once, or after the interval `grace` unless they expire earlier. */
    async endHashes(client: PoolClient, id: string, grace: string | undefined): Promise<void> {
      await client.query(
        `delete from api_key_hashes where key_id = $1 and ($2::interval is null or valid_until < clock_timestamp())`,
        [id, grace],
      )
      await client.query(
        `update api_key_hashes set valid_until = least(valid_until, clock_timestamp() + $2::interval) where key_id = $1`,
        [id, grace],
      )
    },

    async show(client: PoolClient, id: string, { prefix, last4 }: Pick<NewKeyRow, 'prefix' | 'last4'>): Promise<void> {
      await client.query('update api_keys set prefix = $2, last4 = $3 where id = $1', [id, prefix, last4])
    },

    /**
     * Revokes the key and its descendants. Returns the descendants that were not revoked before, in their old state.
     */
    async revoke(client: PoolClient, id: string): Promise<KeyRow[]> {
      const descendants = await client.query<KeyRow>(
        `${records} where k.ancestors @> array[$1] and k.revoked_at is null order by k.id for update of k`,
        [id],
      )
      const ids = [id, ...descendants.rows.map(row => row.id)]
      await client.query('update api_keys set revoked_at = clock_timestamp() where id = any ($1)', [ids])
      await client.query('delete from api_key_hashes where key_id = any ($1)', [ids])
      return descendants.rows
    },

    /** Revokes the keys of a user, or those that name a team, with their descendants. Returns their ids. */
    async revokeKeysOf(
      client: PoolClient,
      { userId, teamId }: { readonly userId?: string; readonly teamId?: string },
    ): Promise<string[]> {
      const text = `
        update api_keys k set revoked_at = clock_timestamp()
        where revoked_at is null and exists (
          select from api_keys own where own.id = any (k.id || k.ancestors) and (own.user_id = $1 or own.team_id = $2))
        returning id`
      const { rows } = await client.query<{ id: string }>(text, [userId, teamId])
      const ids = rows.map(row => row.id)
      await client.query('delete from api_key_hashes where key_id = any ($1)', [ids])
      for (const id of ids) hint(client, keyChannel, id)
      return ids
    },

    /** Returns now plus an interval, by the database clock. */
    async timeAfter(client: PoolClient, interval: string): Promise<Date> {
      const text = 'select clock_timestamp() + $1::interval as time'
      const { rows } = await client.query<{ time: Date }>(text, [interval])
      return rows[0]?.time ?? new Date()
    },

    /**
     * Notifies every process, including this one, on commit. Includes the descendants, which share the limits of the
     * key.
     */
    async announce(client: PoolClient, id: string): Promise<void> {
      const text = 'select id from api_keys where id = $1 or ancestors @> array[$1]'
      const { rows } = await client.query<{ id: string }>(text, [id])
      for (const row of rows) hint(client, keyChannel, row.id)
    },

    /** Like `announce`, for all keys of these users and, with `teamId`, of that team. */
    async announceKeysOf(client: PoolClient, userIds: readonly string[], teamId: string | null): Promise<void> {
      const text = 'select id from api_keys where (user_id = any ($1) or team_id = $2) and revoked_at is null'
      const { rows } = await client.query<{ id: string }>(text, [userIds, teamId])
      for (const row of rows) hint(client, keyChannel, row.id)
    },

    /** Records the use of keys, at most once a minute per key. */
    async markUsed(ids: readonly string[]): Promise<void> {
      const text = `
        update api_keys set last_used_at = clock_timestamp()
        where id = any ($1) and (last_used_at is null or last_used_at < clock_timestamp() - interval '1 minute')`
      await pool.query(text, [ids])
    },
  }
}

const valuesOf = (fields: KeyFields): unknown[] => [
  fields.label,
  fields.owner_id,
  fields.role,
  JSON.stringify(fields.models),
  JSON.stringify(fields.metadata),
  fields.expires_at,
  JSON.stringify(fields.passthrough),
  fields.cache && JSON.stringify(fields.cache),
  fields.log_bodies && JSON.stringify(fields.log_bodies),
  fields.mcp_servers && JSON.stringify(fields.mcp_servers),
  fields.mcp_tools && JSON.stringify(fields.mcp_tools),
  fields.user_id,
  fields.team_id,
]
