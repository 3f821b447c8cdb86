import type { FastifyInstance } from 'fastify'
import { type Agent, agentRoutes } from '../../contract/agents.ts'
import { bind, type Meta } from '../http/bind.ts'
import { pageOf } from '../http/page.ts'
import type { Agents } from './agents.ts'

/** The agent routes. A scoped caller sees and writes only its owner's agents. */
export function serveAgents(app: FastifyInstance, { agents }: { agents: Agents }): void {
  const withWarnings = async (write: Promise<Agent>, { ignore }: Meta): Promise<Agent> => {
    const agent = await write
    ignore(await agents.ignored(agent))
    return agent
  }

  bind(app, agentRoutes.list, async ({ query }, caller) => {
    const { items, next_cursor } = await pageOf(
      query,
      page => agents.list(query.owner_id, caller, page),
      ({ id }) => id,
    )
    return { agents: items, next_cursor }
  })
  bind(app, agentRoutes.create, ({ body }, caller, meta) =>
    withWarnings(agents.create(body, { caller, actor: meta.actor }, meta.idempotency), meta),
  )
  bind(app, agentRoutes.get, ({ params }, caller) => agents.get(params.agent_id, caller))
  bind(app, agentRoutes.update, ({ params, body }, caller, meta) =>
    withWarnings(agents.update(params.agent_id, body, { caller, actor: meta.actor }), meta),
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
  bind(app, agentRoutes.import, ({ body, query: { name, owner_id } }, caller, meta) => {
    const { actor, idempotency } = meta
    return withWarnings(agents.import(body, { name, owner_id, idempotency }, { caller, actor }), meta)
  })
  bind(app, agentRoutes.rollback, ({ params }, caller, meta) =>
    withWarnings(agents.rollback(params.agent_id, params.version, { caller, actor: meta.actor }), meta),
  )
}
