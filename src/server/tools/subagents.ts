import type { TextBlock } from '../../contract/events.ts'
import { isAbsent, isRecord, type Json } from '../platform/json.ts'
import type { EntryProblem } from './custom-tools.ts'
import { failureResult } from './tool.ts'
import type { AwaitedTool, ToolSource } from './tool-source.ts'
import { type ToolPolicy, toolPolicies, toolPolicyOf } from './toolset.ts'

/** An agent that another one may call: an entry of `config.agents`. */
export interface SubagentEntry {
  readonly agentId: string
  /** Version to run; undefined means the pinned one, else the current one. */
  readonly version: number | undefined
  /** Largest part of the calling session's budget that one call may spend; undefined means no separate limit. */
  readonly budgetShare: number | undefined
  /** Maximum number of concurrent calls of this agent by one session. */
  readonly maxParallel: number
  readonly policy: ToolPolicy
}

/** An agent as its callers see it. */
export interface SubagentFacts {
  readonly id: string
  readonly name: string
  readonly description: string | null
}

/** A call of an agent, as its session is started. */
export interface SubagentCall {
  readonly entry: SubagentEntry
  /** Name of the tool. */
  readonly name: string
  readonly agentName: string
}

/** How a call of an agent ended. */
export interface SubagentEnd {
  readonly content: readonly TextBlock[]
  readonly is_error: boolean
}

/** What the engine provides for calls of agents. */
export interface RunSubagents {
  /** Returns those of these agents that exist and belong to the owner of the session. */
  readonly agents: (ids: readonly string[]) => Promise<readonly SubagentFacts[]>
  /** Returns the calls of the session without a result, by the name of their tool. */
  readonly open: () => Promise<readonly SubagentCall[]>
  /** Returns how the call of that event ended. Starts its session when it may; parks the run while there is no end. */
  readonly end: (eventId: string, call: SubagentCall) => Promise<SubagentEnd | undefined>
}

/** Levels of sessions below the first one. */
export const maxSubagentDepth = 3
/** Concurrent calls of one session, whatever their agents. */
export const maxParallelCalls = 4
const maxEntries = 20
const maxVersion = 2_147_483_647
const maxNameLength = 50
const maxDescription = 2_000
const prefix = 'agent__'
const knownFields = ['agent_id', 'version', 'budget_share', 'max_parallel', 'permission_policy']

/** Reports whether a tool with that name calls an agent. */
export const isSubagentTool = (name: string): boolean => name.startsWith(prefix)

/** Input of each call. */
export const subagentInput: Json = {
  type: 'object',
  properties: {
    prompt: { type: 'string', description: 'The task, with everything that the agent needs to know' },
  },
  required: ['prompt'],
  additionalProperties: false,
}

const entryOf = (value: unknown): Json => (isRecord(value) ? value : { agent_id: value })

/** Returns the agents that an agent with this `config` may call. Skips invalid entries of older releases. */
export function subagentEntries(config: Json): SubagentEntry[] {
  const given = config['agents']
  if (!Array.isArray(given) || subagentProblem(given)) return []
  return given
    .map(entryOf)
    .map(({ agent_id, version, budget_share: share, max_parallel: parallel, permission_policy }) => ({
      agentId: String(agent_id),
      version: typeof version === 'number' ? version : undefined,
      budgetShare: typeof share === 'number' ? share : undefined,
      maxParallel: typeof parallel === 'number' ? parallel : maxParallelCalls,
      policy: toolPolicyOf(permission_policy) ?? 'allow',
    }))
}

/** Returns the first problem of `config.agents`. Whether the agents exist is checked elsewhere. */
export function subagentProblem(given: unknown): EntryProblem | undefined {
  if (!Array.isArray(given)) return { field: '', problem: 'must be a list of agents' }
  if (given.length > maxEntries) return { field: '', problem: `must have at most ${maxEntries} agents` }
  const ids: unknown[] = []
  for (const [at, value] of given.entries()) {
    const entry = entryOf(value)
    const wrong = entryProblem(entry, ids)
    if (wrong) return { field: `[${at}]${wrong.field}`, problem: wrong.problem }
    ids.push(entry['agent_id'])
  }
  return undefined
}

function entryProblem(entry: Json, others: readonly unknown[]): EntryProblem | undefined {
  const { agent_id: id, version, budget_share: share, max_parallel: parallel, permission_policy: policy } = entry
  const unknown = Object.keys(entry).find(name => !knownFields.includes(name))
  if (unknown !== undefined)
    return { field: `.${unknown.slice(0, 100)}`, problem: `is unknown; known fields: ${knownFields.join(', ')}` }
  if (typeof id !== 'string' || id === '') return { field: '.agent_id', problem: 'must be the id of an agent' }
  if (others.includes(id)) return { field: '.agent_id', problem: `${id.slice(0, 100)} is already in the list` }
  if (!isAbsent(version) && !(Number.isInteger(version) && Number(version) >= 1 && Number(version) <= maxVersion))
    return { field: '.version', problem: 'must be a version of the agent, a whole number from 1' }
  if (!isAbsent(share) && !(typeof share === 'number' && share > 0 && share <= 1))
    return { field: '.budget_share', problem: 'must be a number above 0, at most 1' }
  if (
    !isAbsent(parallel) &&
    !(Number.isInteger(parallel) && Number(parallel) >= 1 && Number(parallel) <= maxParallelCalls)
  )
    return { field: '.max_parallel', problem: `must be a whole number from 1 to ${maxParallelCalls}` }
  if (!isAbsent(policy) && !toolPolicyOf(policy))
    return { field: '.permission_policy', problem: `must be one of ${toolPolicies.join(', ')}` }
  return undefined
}

/**
 * Returns the names of the tools by agent id: `agent__` and the name of the agent. Agents with the same name get the
 * last six characters of their ids as well.
 */
export function subagentNames(agents: readonly Pick<SubagentFacts, 'id' | 'name'>[]): ReadonlyMap<string, string> {
  const slugs = agents.map(({ name }) => slugOf(name))
  return new Map(
    agents.map(({ id }, at) => {
      const slug = slugs[at] ?? ''
      const isUnique = slugs.filter(other => other === slug).length === 1
      return [id, `${prefix}${slug}${isUnique ? '' : `_${id.slice(-6)}`}`]
    }),
  )
}

function slugOf(name: string): string {
  const words = name
    .normalize('NFKD')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '_')
  return words.slice(0, maxNameLength).replaceAll(/^_|_$/g, '') || 'agent'
}

/**
 * Returns the source of the agents that a session may call. A call without a result keeps its tool when the agent was
 * renamed or deleted meanwhile.
 */
export function subagentSource(entries: readonly SubagentEntry[], subagents: RunSubagents): ToolSource {
  return {
    name: 'agents',
    async list() {
      const found = await subagents.agents(entries.map(({ agentId }) => agentId))
      const names = subagentNames(found)
      const tools = entries.flatMap(entry => {
        const agent = found.find(({ id }) => id === entry.agentId)
        const name = names.get(entry.agentId)
        if (!agent || name === undefined) return []
        return [toolOf({ entry, name, agentName: agent.name }, agent.description, subagents)]
      })
      const open = await subagents.open()
      const others = open.filter(call => !tools.some(({ name }) => name === call.name))
      return [...tools, ...others.map(call => toolOf(call, null, subagents))]
    },
  }
}

function toolOf(call: SubagentCall, description: string | null, { end }: RunSubagents): AwaitedTool {
  const about = description?.trim() ? ` About the agent: ${description.trim().slice(0, maxDescription)}` : ''
  return {
    name: call.name,
    description:
      `Gives the agent ${JSON.stringify(call.agentName)} a task and returns its answer. It works in a separate session ` +
      `with separate files, and knows nothing of this conversation but the prompt. Calls of one turn run in parallel.${about}`,
    inputSchema: subagentInput,
    policy: call.entry.policy,
    // What the agent does is unknown, so it counts as a change.
    reads: false,
    idempotent: false,
    use: { type: 'agent.tool_use' },
    async result(eventId) {
      const ended = await end(eventId, call)
      return ended && { ...ended, isLogged: false }
    },
  }
}

/** Result of a call whose agent gave none. */
export const subagentFailure = (agentName: string, what: string): SubagentEnd => {
  const { content, is_error } = failureResult(`agent ${JSON.stringify(agentName)} ${what}`)
  return { content, is_error }
}
