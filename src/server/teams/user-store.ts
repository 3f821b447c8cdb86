import type { Pool, PoolClient } from 'pg'
import type { User } from '../../contract/users.ts'

type Queryable = Pick<Pool, 'query'>

/** Fields of a user that a write sets. */
export interface UserFields {
  readonly kind: User['kind']
  readonly name: string
  readonly email: string | null
  readonly owner_id: string
  readonly role: User['role']
}

/** Account at an identity provider. */
export interface Account {
  readonly issuer: string
  readonly subject: string
}

/** Selects users of a list. */
export interface UserFilter {
  /** Part of the name, the email or the owner, in any case; empty for any. */
  readonly q: string
  readonly kind: User['kind'] | undefined
  readonly team: string | undefined
  /** Last id of the previous page. */
  readonly after: string | undefined
  readonly limit: number
}

interface UserRow extends Omit<User, 'created_at' | 'last_sign_in_at'> {
  readonly created_at: Date
  readonly last_sign_in_at: Date | null
}

const records = `
  select u.id, u.kind, u.name, u.email, u.owner_id, u.role, u.disabled_at is not null as is_disabled,
         u.subject is not null as has_signed_in, u.last_sign_in_at, u.created_by, u.created_at,
         coalesce((
           select json_agg(json_build_object('id', t.id, 'name', t.name) order by m.created_at, t.id)
           from team_members m join teams t on t.id = m.team_id where m.user_id = u.id), '[]') as teams
  from users u`

const toUser = (row: UserRow): User => ({
  ...row,
  last_sign_in_at: row.last_sign_in_at?.toISOString() ?? null,
  created_at: row.created_at.toISOString(),
})

/** Tables of objects that outlive their session. */
const tablesWithOwners = [
  'agents',
  'sessions',
  'schedules',
  'skills',
  'environments',
  'vault_entries',
  'webhook_endpoints',
  'datasets',
  'experiments',
  'managed_deployments',
] as const

/** Table `users`: people and service accounts. */
export type UserStore = ReturnType<typeof userStore>

export function userStore(pool: Pool) {
  const one = async (on: Queryable, condition: string, values: readonly unknown[]): Promise<User | undefined> => {
    const { rows } = await on.query<UserRow>(`${records} where ${condition}`, [...values])
    return rows[0] && toUser(rows[0])
  }
  return {
    find: (id: string, on: Queryable = pool) => one(on, 'u.id = $1', [id]),

    /** Locks a user for the rest of the transaction. */
    async lock(client: PoolClient, id: string): Promise<User | undefined> {
      await client.query('select from users where id = $1 for update', [id])
      return one(client, 'u.id = $1', [id])
    },

    /** Locks and returns the user of an account. Until the transaction ends no other process can create it. */
    async ofAccount(client: PoolClient, { issuer, subject }: Account): Promise<User | undefined> {
      await client.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [`${issuer}\n${subject}`])
      await client.query('select from users where issuer = $1 and subject = $2 for update', [issuer, subject])
      return one(client, 'u.issuer = $1 and u.subject = $2', [issuer, subject])
    },

    /** Locks and returns the person with this email address who has never signed in. */
    async unclaimed(client: PoolClient, email: string): Promise<User | undefined> {
      const text = `
        select id from users where lower(email) = lower($1) and subject is null and kind = 'person' for update`
      const { rows } = await client.query<{ id: string }>(text, [email])
      return rows[0] && one(client, 'u.id = $1', [rows[0].id])
    },

    /** Lists users, newest first. */
    async list({ q, kind, team, after, limit }: UserFilter): Promise<User[]> {
      const text = `${records}
        where ($1 = '' or position(lower($1) in lower(u.name || ' ' || coalesce(u.email, '') || ' ' || u.owner_id)) > 0)
          and ($2::text is null or u.kind = $2)
          and ($3::text is null or exists (select from team_members where team_id = $3 and user_id = u.id))
          and ($4::text is null or u.id < $4)
        order by u.id desc limit $5`
      return (await pool.query<UserRow>(text, [q, kind, team, after, limit])).rows.map(toUser)
    },

    async insert(client: PoolClient, { id, created_by, ...user }: UserFields & { id: string; created_by: string }) {
      const text = `
        insert into users (id, kind, name, email, owner_id, role, created_by) values ($1, $2, $3, $4, $5, $6, $7)`
      await client.query(text, [id, user.kind, user.name, user.email, user.owner_id, user.role, created_by])
    },

    async update(
      client: PoolClient,
      user: Pick<User, 'id' | 'name' | 'email' | 'role' | 'is_disabled'>,
    ): Promise<void> {
      const text = `
        update users set name = $2, email = $3, role = $4,
                         disabled_at = case when $5 then coalesce(disabled_at, clock_timestamp()) end
        where id = $1`
      await client.query(text, [user.id, user.name, user.email, user.role, user.is_disabled])
    },

    /** Records a sign-in, and the account of the first one. */
    async signedIn(client: PoolClient, id: string, { issuer, subject }: Account): Promise<void> {
      const text = `
        update users set issuer = $2, subject = $3, last_sign_in_at = clock_timestamp() where id = $1`
      await client.query(text, [id, issuer, subject])
    },

    async remove(client: PoolClient, id: string): Promise<void> {
      await client.query('delete from users where id = $1', [id])
    },

    /** True if another user has the email address. */
    async hasEmail(client: PoolClient, email: string, otherThan: string): Promise<boolean> {
      const text = 'select from users where lower(email) = lower($1) and id <> $2'
      return (await client.query(text, [email, otherThan])).rows.length > 0
    },

    /**
     * True if a user or a team has the owner. Until the transaction ends no other process can give it to one, so that an
     * owner never belongs to two.
     */
    async isTaken(client: PoolClient, ownerId: string): Promise<boolean> {
      await client.query(`select pg_advisory_xact_lock(hashtext('owners of users and teams'))`)
      const text = 'select from users where owner_id = $1 union all select from teams where owner_id = $1'
      return (await client.query(text, [ownerId])).rows.length > 0
    },

    /** True if an owner has objects, or is the id of a key, which owns what the key creates. */
    async hasObjects(client: PoolClient, ownerId: string): Promise<boolean> {
      const text = `
        select from api_keys where $1 in (id, owner_id)
        ${tablesWithOwners.map(table => `union all select from ${table} where owner_id = $1`).join('\n')}
        union all select from budgets where scope = 'owner' and scope_id = $1
        limit 1`
      return (await client.query(text, [ownerId])).rows.length > 0
    },
  }
}
