import type { Pool, PoolClient } from 'pg'
import type { NewTeam, Team, TeamChange, TeamMember } from '../../contract/teams.ts'
import type { Audit } from '../audit/audit.ts'
import type { BudgetStore } from '../budgets/store.ts'
import { isUniqueViolation, transaction } from '../db/connect.ts'
import { sqlOfClient } from '../db/once.ts'
import type { Actor, By, Caller } from '../http/caller.ts'
import { rejectNarrow } from '../http/reach.ts'
import type { KeyStore } from '../keys/store.ts'
import { AppError, notFound } from '../platform/errors.ts'
import { newId } from '../platform/ids.ts'
import type { TeamStore } from './team-store.ts'
import type { UserStore } from './user-store.ts'
import { requireFreeOwner } from './users.ts'

interface Deps {
  readonly pool: Pool
  readonly store: TeamStore
  readonly users: Pick<UserStore, 'find' | 'isTaken'>
  readonly keys: Pick<KeyStore, 'announceKeysOf' | 'revokeKeysOf'>
  readonly budgets: Pick<BudgetStore, 'remove'>
  readonly audit: Audit
}

interface PageOf {
  readonly after: string | undefined
  readonly limit: number
}

const auditedTeam = ({ name, owner_id, models, group }: Team) => ({ name, owner_id, models, group })

/** Rules for teams and their members. Only admins without limits may use them. */
export type Teams = ReturnType<typeof createTeams>

export function createTeams({ pool, store, users, keys, budgets, audit }: Deps) {
  const record = (client: PoolClient, actor: Actor, { action, team, ...change }: Change) =>
    audit.record(sqlOfClient(client), {
      actor,
      action: `team.${action}`,
      objectId: team.id,
      ownerId: team.owner_id,
      ...change,
    })

  /** Runs a write of a team in a transaction. */
  const writing = <T>(group: string | null | undefined, work: (client: PoolClient) => Promise<T>): Promise<T> =>
    transaction(pool, work).catch(error => {
      if (!isUniqueViolation(error)) throw error
      throw new AppError('conflict', `group ${group} belongs to another team`, { cause: error })
    })

  async function locked(client: PoolClient, id: string): Promise<Team> {
    const team = await store.lock(client, id)
    if (!team) throw notFound('team', id)
    return team
  }

  async function found(client: PoolClient, id: string): Promise<Team> {
    const team = await store.find(id, client)
    if (!team) throw new Error(`team ${id} does not exist right after it was changed (bug)`)
    return team
  }

  async function get(id: string, caller: Caller): Promise<Team> {
    rejectNarrow({ caller })
    const team = await store.find(id)
    if (!team) throw notFound('team', id)
    return team
  }

  return {
    get,

    async list(filter: PageOf & { readonly q: string }, caller: Caller): Promise<Team[]> {
      rejectNarrow({ caller })
      return store.list(filter)
    },

    async create({ name, owner_id, models = [], group = null }: NewTeam, by: By): Promise<Team> {
      rejectNarrow(by)
      return writing(group, async client => {
        const id = newId('team')
        const owner = owner_id ?? id
        await requireFreeOwner(client, users, owner)
        await store.insert(client, { id, name, owner_id: owner, models, group, created_by: by.caller.principal })
        const team = await found(client, id)
        await record(client, by.actor, { action: 'create', team, after: auditedTeam(team) })
        return team
      })
    },

    async update(id: string, change: TeamChange, by: By): Promise<Team> {
      rejectNarrow(by)
      return writing(change.group, async client => {
        const before = await locked(client, id)
        const after = { ...before, ...change }
        await store.update(client, id, after)
        const entry = {
          action: 'update',
          team: before,
          before: auditedTeam(before),
          after: auditedTeam(after),
        } as const
        await record(client, by.actor, entry)
        await keys.announceKeysOf(client, await store.memberIds(client, id), id)
        return found(client, id)
      })
    },

    /** Deletes a team with its budget, and revokes the keys that name it. */
    async remove(id: string, by: By): Promise<void> {
      rejectNarrow(by)
      await transaction(pool, async client => {
        const team = await locked(client, id)
        const members = await store.memberIds(client, id)
        const revoked_keys = await keys.revokeKeysOf(client, { teamId: id })
        await keys.announceKeysOf(client, members, id)
        await budgets.remove(client, { scope: 'team', scope_id: id })
        await store.remove(client, id)
        await record(client, by.actor, { action: 'delete', team, before: { ...auditedTeam(team), revoked_keys } })
      })
    },

    async members(id: string, page: PageOf, caller: Caller): Promise<TeamMember[]> {
      await get(id, caller)
      return store.members(id, page)
    },

    async addMember(id: string, userId: string, by: By): Promise<void> {
      rejectNarrow(by)
      await transaction(pool, async client => {
        const team = await locked(client, id)
        if (!(await users.find(userId, client))) throw notFound('user', userId)
        if (!(await store.addMember(client, id, userId))) return
        await record(client, by.actor, { action: 'add_member', team, after: { user_id: userId } })
        await keys.announceKeysOf(client, [userId], null)
      })
    },

    async removeMember(id: string, userId: string, by: By): Promise<void> {
      rejectNarrow(by)
      await transaction(pool, async client => {
        const team = await locked(client, id)
        if (!(await store.removeMember(client, id, userId))) throw notFound('user', userId)
        await record(client, by.actor, { action: 'remove_member', team, before: { user_id: userId } })
        await keys.announceKeysOf(client, [userId], null)
      })
    },
  }
}

interface Change {
  readonly action: 'create' | 'update' | 'delete' | 'add_member' | 'remove_member'
  readonly team: Team
  readonly before?: object
  readonly after?: object
}
