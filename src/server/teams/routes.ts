import type { FastifyInstance } from 'fastify'
import { teamRoutes } from '../../contract/teams.ts'
import { userRoutes } from '../../contract/users.ts'
import { bind } from '../http/bind.ts'
import { pageOf } from '../http/page.ts'
import type { Teams } from './teams.ts'
import type { Users } from './users.ts'

/** Binds the routes of users, for admins. */
export function serveUsers(app: FastifyInstance, { users }: { readonly users: Users }): void {
  bind(app, userRoutes.list, async ({ query }, caller) => {
    const { q = '', kind, team_id: team } = query
    const { items, next_cursor } = await pageOf(
      query,
      page => users.list({ q: q.trim(), kind, team, ...page }, caller),
      ({ id }) => id,
    )
    return { users: items, next_cursor }
  })
  bind(app, userRoutes.create, ({ body }, caller, { actor }) => users.create(body, { caller, actor }))
  bind(app, userRoutes.get, ({ params }, caller) => users.get(params.user_id, caller))
  bind(app, userRoutes.update, ({ params, body }, caller, { actor }) =>
    users.update(params.user_id, body, { caller, actor }),
  )
  bind(app, userRoutes.remove, ({ params }, caller, { actor }) => users.remove(params.user_id, { caller, actor }))
}

/** Binds the routes of teams and their members, for admins. */
export function serveTeams(app: FastifyInstance, { teams }: { readonly teams: Teams }): void {
  bind(app, teamRoutes.list, async ({ query }, caller) => {
    const q = (query.q ?? '').trim()
    const { items, next_cursor } = await pageOf(
      query,
      page => teams.list({ q, ...page }, caller),
      ({ id }) => id,
    )
    return { teams: items, next_cursor }
  })
  bind(app, teamRoutes.create, ({ body }, caller, { actor }) => teams.create(body, { caller, actor }))
  bind(app, teamRoutes.get, ({ params }, caller) => teams.get(params.team_id, caller))
  bind(app, teamRoutes.update, ({ params, body }, caller, { actor }) =>
    teams.update(params.team_id, body, { caller, actor }),
  )
  bind(app, teamRoutes.remove, ({ params }, caller, { actor }) => teams.remove(params.team_id, { caller, actor }))
  bind(app, teamRoutes.members, async ({ params, query }, caller) => {
    const { items, next_cursor } = await pageOf(
      query,
      page => teams.members(params.team_id, page, caller),
      ({ user_id }) => user_id,
    )
    return { members: items, next_cursor }
  })
  bind(app, teamRoutes.addMember, ({ params }, caller, { actor }) =>
    teams.addMember(params.team_id, params.user_id, { caller, actor }),
  )
  bind(app, teamRoutes.removeMember, ({ params }, caller, { actor }) =>
    teams.removeMember(params.team_id, params.user_id, { caller, actor }),
  )
}
