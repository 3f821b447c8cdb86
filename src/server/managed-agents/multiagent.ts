import type { ManagedMultiagent, ManagedRosterEntry } from '../../contract/managed-agents.ts'
import type { StoredAgent } from '../agents/stored-agent.ts'
import { invalid } from '../platform/errors.ts'
import { isRecord } from '../platform/json.ts'
import { subagentEntries, subagentProblem } from '../tools/subagents.ts'

type Config = StoredAgent['config']
type Fields = Readonly<Record<string, unknown>>

/** Key of `config` with the form in which the dialect wrote `config.agents`; absent for a coordinator. */
const formKey = 'multiagent'

const threeMembers = 'multiagent_20261001'

const isThreeMembers = (config: Config): boolean => {
  const form = config[formKey]
  return isRecord(form) && form['type'] === threeMembers
}

/** Path of an entry of the list in the body. */
export const rosterField = (given: ManagedMultiagent, at: number): string =>
  given.type === 'coordinator' ? `multiagent.agents[${at}]` : `multiagent.subagents.predefined_agents[${at}]`

/**
 * Returns the keys of `config` for the agents that an agent may call. An agent that stays in the list keeps the settings
 * that the dialect has no fields for. Throws `invalid_request` for an invalid list.
 */
export function multiagentConfig(config: Config, given: ManagedMultiagent | null): Fields {
  if (given === null) return { agents: null, [formKey]: null }
  const roster = rosterOf(config, given)
  const agents = roster === undefined ? config['agents'] : roster.map(entry => mergedEntry(config, entry))
  const wrong = roster === undefined ? undefined : subagentProblem(agents)
  if (wrong) {
    const at = Number(/^\[(\d+)\]/.exec(wrong.field)?.[1] ?? 0)
    throw invalid(
      `${rosterField(given, at)}${wrong.field.replace(/^\[\d+\]/, '').replace('agent_id', 'id')} ${wrong.problem}`,
    )
  }
  return { agents, [formKey]: given.type === threeMembers ? { type: threeMembers } : null }
}

/** Returns the list of the body; undefined when it keeps the stored one. */
function rosterOf(config: Config, given: ManagedMultiagent): readonly ManagedRosterEntry[] | undefined {
  if (given.type === 'coordinator') return given.agents
  const { subagents } = given
  // A body of this form is merged into a stored one of the same form.
  const kept = isThreeMembers(config) ? undefined : []
  if (subagents === undefined) return kept
  if (subagents === null || subagents.type === 'disabled') return []
  return subagents.predefined_agents === undefined ? kept : (subagents.predefined_agents ?? [])
}

function mergedEntry(config: Config, entry: ManagedRosterEntry): Fields {
  const { id, version = null } = typeof entry === 'string' ? { id: entry } : entry
  const stored = Array.isArray(config['agents']) ? config['agents'] : []
  const same = stored.find(other => isRecord(other) && other['agent_id'] === id)
  const { version: _version, ...settings } = isRecord(same) ? same : {}
  return { ...settings, agent_id: id, ...(version !== null && { version }) }
}

/** An agent of the list as an answer shows it. */
type Shown = Readonly<Record<string, unknown>>

/** Returns `multiagent` of an answer. `show` returns an agent of the list; undefined for one that is gone. */
export async function shownMultiagent(
  config: Config,
  show: (agentId: string, version: number | undefined) => Promise<Shown | undefined>,
): Promise<Record<string, unknown> | null> {
  const entries = subagentEntries(config)
  const shown = await Promise.all(entries.map(({ agentId, version }) => show(agentId, version)))
  const agents = shown.filter(agent => agent !== undefined)
  const disabled = { type: 'disabled' } as const
  if (isThreeMembers(config)) {
    const enabled = { type: 'enabled', predefined_agents: agents, inline_agents: disabled }
    const subagents = agents.length === 0 ? disabled : enabled
    return { type: threeMembers, subagents, workflows: disabled, advisor: disabled }
  }
  return agents.length === 0 ? null : { type: 'coordinator', agents }
}
