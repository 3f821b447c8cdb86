import type { FastifyInstance } from 'fastify'
import { agentRoutes } from '../../contract/agents.ts'
import { sessionRoutes } from '../../contract/sessions.ts'
import { bind } from '../http/bind.ts'
import type { createAgentContext } from './agent-context.ts'
import type { createSessionContext } from './session-context.ts'

interface Deps {
  readonly agentContext: ReturnType<typeof createAgentContext>
  readonly sessionContext: ReturnType<typeof createSessionContext>
}

/** Serves what the model gets: in a new session of an agent, and in the next request of a session. */
export function serveContexts(app: FastifyInstance, { agentContext, sessionContext }: Deps): void {
  bind(app, agentRoutes.context, ({ params, query: { version, prompt } }, caller) =>
    agentContext(params.agent_id, { version, prompt }, caller),
  )
  bind(app, sessionRoutes.context, ({ params }, caller) => sessionContext(params.session_id, caller))
}
