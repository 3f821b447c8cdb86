import type { FastifyInstance } from 'fastify'
import { environmentRoutes } from '../../contract/environments.ts'
import { managedAgentRoutes } from '../../contract/managed-agents.ts'
import { dialectSessionRoutes } from '../../contract/managed-sessions.ts'
import { bind } from '../http/bind.ts'
import { createdRange } from '../http/created-range.ts'
import { invalid, notFound } from '../platform/errors.ts'
import type { ManagedAgents } from './agents.ts'
import type { Environments } from './environments.ts'
import { byId, listOf } from './lists.ts'
import type { DialectSessions } from './sessions.ts'
import { archivedIn, statusesOf } from './statuses.ts'

/** Serves the agents of the Managed Agents dialect: the same records as under `/api/agents`. */
export function serveManagedAgents(app: FastifyInstance, { agents }: { agents: ManagedAgents }): void {
  bind(app, managedAgentRoutes.create, async ({ body }, caller, { actor, idempotency, ignore }) => {
    const agent = await agents.create(body, { caller, actor }, idempotency)
    ignore(await agents.ignored(agent.id, body, caller))
    return agent
  })
  bind(app, managedAgentRoutes.list, ({ query }, caller) => {
    const filter = { ...createdRange(query), without: query.include_archived ? undefined : ('archived' as const) }
    return listOf(query, page => agents.list({ ...page, ...filter }, caller), byId)
  })
  bind(app, managedAgentRoutes.get, ({ params, query }, caller) => agents.get(params.agent_id, query.version, caller))
  bind(app, managedAgentRoutes.update, async ({ params, body }, caller, { actor, ignore }) => {
    const agent = await agents.update(params.agent_id, body, { caller, actor })
    ignore(await agents.ignored(agent.id, body, caller))
    return agent
  })
  bind(app, managedAgentRoutes.archive, ({ params }, caller, { actor }) =>
    agents.archive(params.agent_id, { caller, actor }),
  )
  bind(app, managedAgentRoutes.versions, ({ params, query }, caller) =>
    listOf(
      query,
      page => agents.versions(params.agent_id, caller, page),
      ({ version }) => String(version),
    ),
  )
}

/** Serves the environments of the Managed Agents dialect. */
export function serveEnvironments(app: FastifyInstance, { environments }: { environments: Environments }): void {
  bind(app, environmentRoutes.create, ({ body }, caller, { actor, idempotency }) =>
    environments.create(body, { caller, actor }, idempotency),
  )
  bind(app, environmentRoutes.list, ({ query }, caller) => {
    const withArchived = query.include_archived ?? false
    return listOf(query, page => environments.list({ ...page, withArchived }, caller), byId)
  })
  bind(app, environmentRoutes.get, ({ params }, caller) => environments.get(params.environment_id, caller))
  bind(app, environmentRoutes.update, ({ params, body }, caller, { actor }) =>
    environments.update(params.environment_id, body, { caller, actor }),
  )
  bind(app, environmentRoutes.archive, ({ params }, caller, { actor }) =>
    environments.archive(params.environment_id, { caller, actor }),
  )
  bind(app, environmentRoutes.remove, async ({ params: { environment_id: id } }, caller, { actor }) => {
    await environments.remove(id, { caller, actor })
    return { id, type: 'environment_deleted' as const }
  })
}

/** Serves the sessions of the Managed Agents dialect; their events have separate routes. */
export function serveDialectSessions(app: FastifyInstance, { sessions }: { sessions: DialectSessions }): void {
  bind(app, dialectSessionRoutes.create, async ({ body }, caller, { idempotency, ignore }) => {
    const { session, ignored } = await sessions.create(body, caller, { idempotency })
    ignore(ignored)
    return session
  })
  bind(app, dialectSessionRoutes.list, ({ query }, caller) => {
    const statuses = statusesOf(query.statuses ?? query['statuses[]'])
    const filter = {
      ...createdRange(query),
      agentId: query.agent_id,
      agentVersion: query.agent_version,
      deploymentId: query.deployment_id,
      archived: archivedIn(statuses, query.include_archived ?? false),
      order: query.order ?? 'desc',
    }
    return listOf(query, page => sessions.list({ ...filter, ...page }, statuses, caller), byId)
  })
  bind(app, dialectSessionRoutes.get, ({ params }, caller) => sessions.get(params.session_id, caller))
  bind(app, dialectSessionRoutes.update, ({ params, body }, caller) => sessions.update(params.session_id, body, caller))
  bind(app, dialectSessionRoutes.archive, ({ params }, caller) => sessions.archive(params.session_id, caller))
  bind(app, dialectSessionRoutes.remove, async ({ params: { session_id: id } }, caller) => {
    await sessions.remove(id, caller)
    return { id, type: 'session_deleted' as const }
  })
  bind(app, dialectSessionRoutes.addResource, async ({ params, body }, caller) => {
    await sessions.get(params.session_id, caller)
    if (body.type !== 'file')
      throw invalid(
        `type ${body.type} cannot be added to an existing session; set resources when you create the session`,
      )
    return sessions.addFile(params.session_id, body, caller)
  })
  bind(app, dialectSessionRoutes.removeResource, async ({ params: { session_id, resource_id: id } }, caller) => {
    const { resources } = await sessions.get(session_id, caller)
    const found = resources.find(each => each.id === id)
    if (!found) throw notFound('resource', id)
    if (found.type !== 'file') throw invalid(`resource ${id} is of type ${found.type}; only files can be removed`)
    await sessions.removeFile(session_id, id, caller)
    return { id, type: 'session_resource_deleted' as const }
  })
  bind(app, dialectSessionRoutes.resource, async ({ params }, caller) => {
    const { resources } = await sessions.get(params.session_id, caller)
    const found = resources.find(({ id }) => id === params.resource_id)
    if (!found) throw notFound('resource', params.resource_id)
    return found
  })
  bind(app, dialectSessionRoutes.resources, async ({ params }, caller) => ({
    data: (await sessions.get(params.session_id, caller)).resources,
    next_page: null,
  }))
}
