import type { FastifyInstance } from 'fastify'
import { type Agent, agentRoutes, type ListedAgent } from '../../contract/agents.ts'
import type { Session } from '../../contract/sessions.ts'
import { bind, type Meta } from '../http/bind.ts'
import { pageOf } from '../http/page.ts'
import type { Agents } from './agents.ts'

interface Deps {
  readonly agents: Agents
  /** Returns the newest session of each of these agents that has one. */
  readonly lastSessions: (agentIds: readonly string[]) => Promise<readonly Session[]>
}

/** The agent routes. A scoped caller sees and writes only its owner's agents. */
export function serveAgents(app: FastifyInstance, { agents, lastSessions }: Deps): void {
  const withWarnings = async (write: Promise<Agent>, { ignore }: Meta): Promise<Agent> => {
    const agent = await write
    ignore(await agents.ignored(agent))
    return agent
  }

  bind(app, agentRoutes.list, async ({ query }, caller) => {
    const { owner_id: owner, status, runtime, model, q: text, include } = query
    const { items, next_cursor } = await pageOf(
      query,
      page => agents.list(owner, caller, { ...page, status, runtime, model, text }),
      ({ id }) => id,
    )
    if (include === undefined) return { agents: items, next_cursor }
    const last = new Map((await lastSessions(items.map(({ id }) => id))).map(session => [session.agent_id, session]))
    return { agents: items.map(agent => ({ ...agent, last_session: briefly(last.get(agent.id)) })), next_cursor }
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
  bind(app, agentRoutes.rollback, ({ params, body }, caller, meta) =>
    withWarnings(
      agents.rollback(
        { id: params.agent_id, version: params.version, note: body?.note },
        { caller, actor: meta.actor },
      ),
      meta,
    ),
  )
}

const briefly = (session: Session | undefined): ListedAgent['last_session'] =>
  session
    ? {
        id: session.id,
        title: session.title,
        status: session.status,
        created_at: session.time.created,
        updated_at: session.time.updated,
      }
    : null
