import type { FastifyInstance } from 'fastify'
import { agentRoutes } from '../../contract/agents.ts'
import { bind } from '../http/bind.ts'
import { pageOf } from '../http/page.ts'
import type { Agents } from './agents.ts'

/** The agent routes. A scoped caller sees and writes only its owner's agents. */
export function serveAgents(app: FastifyInstance, { agents }: { agents: Agents }): void {
  bind(app, agentRoutes.list, async ({ query }, caller) => {
    const { items, next_cursor } = await pageOf(
      query,
      page => agents.list(query.owner_id, caller, page),
      ({ id }) => id,
    )
    return { agents: items, next_cursor }
  })
  bind(app, agentRoutes.create, ({ body }, caller, { actor, idempotency }) =>
    agents.create(body, { caller, actor }, idempotency),
  )
  bind(app, agentRoutes.get, ({ params }, caller) => agents.get(params.agent_id, caller))
  bind(app, agentRoutes.update, ({ params, body }, caller, { actor }) =>
    agents.update(params.agent_id, body, { caller, actor }),
  )
  bind(app, agentRoutes.remove, async ({ params }, caller, { actor }) => {
    await agents.remove(params.agent_id, { caller, actor })
    return { ok: true as const }
  })
  bind(app, agentRoutes.pause, ({ params }, caller, { actor }) =>
    agents.setStatus(params.agent_id, 'paused', { caller, actor }),
  )
  bind(app, agentRoutes.resume, ({ params }, caller, { actor }) =>
    agents.setStatus(params.agent_id, 'active', { caller, actor }),
  )
  bind(app, agentRoutes.archive, ({ params }, caller, { actor }) =>
    agents.setStatus(params.agent_id, 'archived', { caller, actor }),
  )
  bind(app, agentRoutes.versions, async ({ params, query }, caller) => {
    const { items, next_cursor } = await pageOf(
      query,
      page => agents.versions(params.agent_id, caller, page),
      ({ version }) => String(version),
    )
    return { versions: items, next_cursor }
  })
  bind(app, agentRoutes.version, ({ params }, caller) => agents.version(params.agent_id, params.version, caller))
  bind(app, agentRoutes.diff, ({ params, query }, caller) =>
    agents.diff(params.agent_id, { from: params.version, to: query.to }, caller),
  )
  bind(app, agentRoutes.export, ({ params }, caller) => agents.export(params.agent_id, caller))
  bind(app, agentRoutes.import, ({ body, query }, caller, { actor, idempotency }) =>
    agents.import(body, { name: query.name, owner_id: query.owner_id, idempotency }, { caller, actor }),
  )
  bind(app, agentRoutes.rollback, ({ params }, caller, { actor }) =>
    agents.rollback(params.agent_id, params.version, { caller, actor }),
  )
}
