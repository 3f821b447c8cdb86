import type { Pool, PoolClient } from 'pg'
import type { Team, TeamMember } from '../../contract/teams.ts'

type Queryable = Pick<Pool, 'query'>

/** Fields of a team that a write sets. */
export type TeamFields = Pick<Team, 'name' | 'models' | 'group'>

interface PageOf {
  /** Last id of the previous page. */
  readonly after: string | undefined
  readonly limit: number
}

interface TeamRow extends Omit<Team, 'created_at'> {
  readonly created_at: Date
}

interface MemberRow extends Omit<TeamMember, 'since'> {
  readonly since: Date
}

const records = `
  select t.id, t.name, t.owner_id, t.models, t.oidc_group as "group", t.created_by, t.created_at,
         (select count(*) from team_members m where m.team_id = t.id) as member_count
  from teams t`

const toTeam = (row: TeamRow): Team => ({ ...row, created_at: row.created_at.toISOString() })

/** Tables `teams` and `team_members`. */
export type TeamStore = ReturnType<typeof teamStore>

export function teamStore(pool: Pool) {
  const one = async (on: Queryable, condition: string, values: readonly unknown[]): Promise<Team | undefined> => {
    const { rows } = await on.query<TeamRow>(`${records} where ${condition}`, [...values])
    return rows[0] && toTeam(rows[0])
  }
  return {
    find: (id: string, on: Queryable = pool) => one(on, 't.id = $1', [id]),

    /** Locks a team for the rest of the transaction. */
    async lock(client: PoolClient, id: string): Promise<Team | undefined> {
      await client.query('select from teams where id = $1 for update', [id])
      return one(client, 't.id = $1', [id])
    },

    /** Lists teams, newest first. */
    async list({ q, after, limit }: PageOf & { readonly q: string }): Promise<Team[]> {
      const text = `${records}
        where ($1 = '' or position(lower($1) in lower(t.name || ' ' || t.owner_id)) > 0) and ($2::text is null or t.id < $2)
        order by t.id desc limit $3`
      return (await pool.query<TeamRow>(text, [q, after, limit])).rows.map(toTeam)
    },

    /** Returns the teams of a user in the order of joining. */
    async ofUser(userId: string, on: Queryable = pool): Promise<Team[]> {
      const text = `${records} join team_members m on m.team_id = t.id where m.user_id = $1 order by m.created_at, t.id`
      return (await on.query<TeamRow>(text, [userId])).rows.map(toTeam)
    },

    async insert(
      client: PoolClient,
      team: TeamFields & { readonly id: string; readonly owner_id: string; readonly created_by: string },
    ): Promise<void> {
      const text = `
        insert into teams (id, name, owner_id, models, oidc_group, created_by) values ($1, $2, $3, $4, $5, $6)`
      const { id, name, owner_id, models, group, created_by } = team
      await client.query(text, [id, name, owner_id, JSON.stringify(models), group, created_by])
    },

    async update(client: PoolClient, id: string, { name, models, group }: TeamFields): Promise<void> {
      const text = 'update teams set name = $2, models = $3, oidc_group = $4 where id = $1'
      await client.query(text, [id, name, JSON.stringify(models), group])
    },

    async remove(client: PoolClient, id: string): Promise<void> {
      await client.query('delete from teams where id = $1', [id])
    },

    async members(teamId: string, { after, limit }: PageOf): Promise<TeamMember[]> {
      const text = `
        select u.id as user_id, u.name, u.role, u.disabled_at is not null as is_disabled, m.source, m.created_at as since
        from team_members m join users u on u.id = m.user_id
        where m.team_id = $1 and ($2::text is null or u.id < $2) order by u.id desc limit $3`
      const { rows } = await pool.query<MemberRow>(text, [teamId, after, limit])
      return rows.map(row => ({ ...row, since: row.since.toISOString() }))
    },

    async memberIds(client: PoolClient, teamId: string): Promise<string[]> {
      const text = 'select user_id from team_members where team_id = $1'
      return (await client.query<{ user_id: string }>(text, [teamId])).rows.map(row => row.user_id)
    },

    /** Adds a member, whom changes of groups no longer remove. True if that changed something. */
    async addMember(client: PoolClient, teamId: string, userId: string): Promise<boolean> {
      const text = `
        insert into team_members (team_id, user_id, source) values ($1, $2, 'manual')
        on conflict (team_id, user_id) do update set source = 'manual' where team_members.source <> 'manual'`
      return (await client.query(text, [teamId, userId])).rowCount === 1
    },

    /** True if the user was a member. */
    async removeMember(client: PoolClient, teamId: string, userId: string): Promise<boolean> {
      const text = 'delete from team_members where team_id = $1 and user_id = $2'
      return (await client.query(text, [teamId, userId])).rowCount === 1
    },

    /** Makes the memberships by group those of `groups`. Returns the ids of the teams joined and left. */
    async followGroups(client: PoolClient, userId: string, groups: readonly string[]) {
      const joined = await client.query<{ team_id: string }>(
        `insert into team_members (team_id, user_id, source)
         select id, $1, 'claim' from teams where oidc_group = any ($2) order by id
         on conflict (team_id, user_id) do nothing returning team_id`,
        [userId, groups],
      )
      const left = await client.query<{ team_id: string }>(
        `delete from team_members m using teams t
         where m.user_id = $1 and m.source = 'claim' and t.id = m.team_id
           and (t.oidc_group is null or t.oidc_group <> all ($2)) returning m.team_id`,
        [userId, groups],
      )
      return { joined: joined.rows.map(row => row.team_id), left: left.rows.map(row => row.team_id) }
    },
  }
}
