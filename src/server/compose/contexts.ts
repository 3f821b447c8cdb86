import type { FastifyInstance } from 'fastify'
import type { Pool } from 'pg'
import type { Agents } from '../agents/agents.ts'
import type { AgentStore } from '../agents/store.ts'
import { createAgentContext } from '../contexts/agent-context.ts'
import { createPromptContext } from '../contexts/prompt-context.ts'
import { serveContexts } from '../contexts/routes.ts'
import { createSessionContext } from '../contexts/session-context.ts'
import type { Keys } from '../keys/keys.ts'
import type { SessionMemories } from '../memories/session-memories.ts'
import type { RuntimeRegistry } from '../runtimes/runtime.ts'
import type { EventStore } from '../sessions/log/event-store.ts'
import { historyStore } from '../sessions/log/history-store.ts'
import type { createNextPrompt } from '../sessions/next-prompt.ts'
import { piecesOf } from '../skills/blocks.ts'
import { maxSubagentDepth } from '../tools/subagents.ts'

interface Needs {
  readonly pool: Pool
  readonly keys: Pick<Keys, 'workerById'>
  readonly agents: Pick<Agents, 'get' | 'version'>
  readonly agentRows: Pick<AgentStore, 'find'>
  readonly runtimes: Pick<RuntimeRegistry, 'find'>
  readonly memories: Pick<SessionMemories, 'explain'>
  readonly events: Pick<EventStore, 'list'>
  readonly nextPrompt: ReturnType<typeof createNextPrompt>
}

/** What models get in sessions, described without a call. */
export function composeContexts({ pool, keys, agents, agentRows, runtimes, memories, events, nextPrompt }: Needs) {
  const describe = createPromptContext({ runtimes, memories, piecesOf })
  const findAgents = async (ids: readonly string[], owner: string | undefined) => {
    const found = await Promise.all(ids.map(id => agentRows.find(id, owner)))
    return found.filter(agent => agent !== undefined)
  }
  return {
    serve(app: FastifyInstance) {
      serveContexts(app, {
        agentContext: createAgentContext({ agents, findAgents, describe }),
        sessionContext: createSessionContext({
          subjectOf: nextPrompt,
          findAgents,
          keys,
          events,
          history: historyStore(pool),
          maxDepth: maxSubagentDepth,
          describe,
        }),
      })
    },
  }
}
