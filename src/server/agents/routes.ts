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
  bind(app, agentRoutes.create, ({ body }, caller, { idempotency }) => agents.create(body, caller, idempotency))
  bind(app, agentRoutes.get, ({ params }, caller) => agents.get(params.agent_id, caller))
  bind(app, agentRoutes.update, ({ params, body }, caller) => agents.update(params.agent_id, body, caller))
  bind(app, agentRoutes.remove, async ({ params }, caller) => {
    await agents.remove(params.agent_id, caller)
    return { ok: true as const }
  })
  bind(app, agentRoutes.pause, ({ params }, caller) => agents.setStatus(params.agent_id, 'paused', caller))
  bind(app, agentRoutes.resume, ({ params }, caller) => agents.setStatus(params.agent_id, 'active', caller))
  bind(app, agentRoutes.archive, ({ params }, caller) => agents.setStatus(params.agent_id, 'archived', caller))
  bind(app, agentRoutes.versions, async ({ params, query }, caller) => {
    const { items, next_cursor } = await pageOf(
      query,
      page => agents.versions(params.agent_id, caller, page),
      ({ version }) => String(version),
    )
    return { versions: items, next_cursor }
  })
  bind(app, agentRoutes.rollback, ({ params }, caller) => agents.rollback(params.agent_id, params.version, caller))
}
