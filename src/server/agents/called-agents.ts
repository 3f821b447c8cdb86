import type { AgentWrite } from '../../contract/agents.ts'
import { invalid } from '../platform/errors.ts'
import { type SubagentEntry, subagentEntries } from '../tools/subagents.ts'
import type { AgentStore } from './store.ts'
import type { StoredAgent } from './stored-agent.ts'

/** Agents that a check for circles reads at most. Depth is limited for each session as well. */
const maxExamined = 200

type Written = Pick<AgentWrite, 'config' | 'owner_id'>

/**
 * Returns the check of `config.agents`: throws `invalid_request` for agents that do not exist, have another owner, or
 * lead back to agent `id`. `fieldOf` names an entry in the body of the caller.
 */
export function createCalledAgentsCheck(store: Pick<AgentStore, 'find' | 'version'>) {
  /** Reports whether calls of `from` lead to agent `id`. */
  async function leadsTo(id: string, from: StoredAgent, owner: string): Promise<boolean> {
    const seen = new Set<string>()
    const next = subagentEntries(from.config).map(({ agentId }) => agentId)
    for (let called = next.pop(); called !== undefined && seen.size < maxExamined; called = next.pop()) {
      if (called === id) return true
      if (seen.has(called)) continue
      seen.add(called)
      const agent = await store.find(called, owner)
      if (agent) next.push(...subagentEntries(agent.config).map(({ agentId }) => agentId))
    }
    return false
  }

  /** Returns the problem of one entry, worded to follow its field. */
  async function problemOf(id: string | undefined, { agentId, version }: SubagentEntry, owner: string) {
    if (agentId === id) return ['.agent_id', 'is the agent itself; an agent cannot call itself']
    const found = await store.find(agentId, owner)
    if (!found) return ['.agent_id', `${agentId.slice(0, 100)} is not an agent of owner ${owner}`]
    if (version !== undefined && version !== found.version && !(await store.version(agentId, version)))
      return ['.version', `${version} is not a version of agent ${agentId}`]
    if (id !== undefined && (await leadsTo(id, found, owner)))
      return ['.agent_id', `${agentId} calls this agent, directly or through others; remove one of the calls`]
    return undefined
  }

  return async (
    id: string | undefined,
    { config, owner_id }: Written,
    fieldOf = (at: number) => `config.agents[${at}]`,
  ): Promise<void> => {
    for (const [at, entry] of subagentEntries(config ?? {}).entries()) {
      const [field, problem] = (await problemOf(id, entry, owner_id)) ?? []
      if (field !== undefined) throw invalid(`${fieldOf(at)}${field} ${problem}`)
    }
  }
}
