import type { AgentContext } from '../../contract/contexts.ts'
import type { Agents } from '../agents/agents.ts'
import type { StoredAgent } from '../agents/stored-agent.ts'
import type { Caller } from '../http/caller.ts'
import type { RunSession } from '../runtimes/runtime.ts'
import { type createPromptContext, part } from './prompt-context.ts'

interface Deps {
  readonly agents: Pick<Agents, 'get' | 'version'>
  /** Returns those of the agents that exist and belong to that owner. */
  readonly findAgents: (ids: readonly string[], owner: string | undefined) => Promise<StoredAgent[]>
  readonly describe: ReturnType<typeof createPromptContext>
}

interface Wanted {
  readonly version: number | undefined
  /** Text of the first prompt. */
  readonly prompt: string | undefined
}

/** Returns a function that describes the first model request of a new session of an agent. It has no effect. */
export function createAgentContext({ agents, findAgents, describe }: Deps) {
  return async (id: string, { version, prompt }: Wanted, caller: Caller): Promise<AgentContext> => {
    const agent =
      version === undefined ? await agents.get(id, caller) : (await agents.version(id, version, caller)).agent
    const owner = agent.owner_id ?? undefined
    const { conversation: _none, ...context } = await describe({
      session: newSession(agent),
      runtime: agent.harness,
      sessionId: undefined,
      agentVersion: agent.version,
      skills: agent.skills,
      prompt: { model: agent.model, system: null, output_schema: null },
      payer: caller,
      agents: ids => findAgents(ids, owner),
      fold: undefined,
    })
    if (prompt === undefined) return context
    const last = part('prompt', prompt, null)
    return {
      ...context,
      parts: [...context.parts, last],
      estimated_tokens: context.estimated_tokens + last.estimated_tokens,
    }
  }
}

const newSession = ({ id, owner_id, system, skills, tools, config }: StoredAgent): RunSession => ({
  id: '',
  owner_id: owner_id ?? '',
  agent_id: id,
  system,
  skills,
  tools,
  config,
  environment: {},
  timezone: null,
  title: '',
  refs: { runtime_agent_ref_id: null, provider_session_id: null, provider_run_id: null, runtime_state: {} },
})
