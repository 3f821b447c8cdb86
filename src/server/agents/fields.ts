import type { Agent, AgentWrite } from '../../contract/agents.ts'
import { skillMarker } from '../../contract/attached-skill.ts'
import type { AgentFields, StoredAgent } from './store.ts'

/** Defaults for fields that the caller omits. */
export interface AgentDefaults {
  readonly model: string
  readonly runtime: string
}

/** Returns the fields of a new agent. Gaps: section 4. */
export function newAgentFields(write: AgentWrite, defaults: AgentDefaults): AgentFields {
  const config = mergeConfig({}, write.config)
  const runtime = write.runtime ?? write.harness ?? config['runtime'] ?? defaults.runtime
  return {
    name: write.name,
    owner_id: write.owner_id,
    model: write.model ?? defaults.model,
    system: write.system ?? write.prompt ?? '',
    description: write.description ?? null,
    harness: String(runtime),
    tools: write.tools ?? {},
    config: { ...config, runtime },
    skills: [],
  }
}

/** Returns an agent's fields after an update: absent means unchanged, null clears. Gaps: section 4. */
export function applyWrite(agent: StoredAgent, write: AgentWrite, defaults: AgentDefaults): AgentFields {
  const keep = <T>(given: T | null | undefined, current: T, cleared: T): T =>
    given === undefined ? current : (given ?? cleared)
  const config = write.config === null ? {} : mergeConfig(agent.config, write.config)
  // A client that sends a record back with a new `config.runtime` still sends the old harness: ignore it.
  const isEcho = write.harness === agent.harness && write.config?.['runtime'] !== undefined
  const harness = isEcho ? undefined : write.harness
  const named = write.runtime ?? harness
  const isCleared = write.runtime === null || harness === null
  const runtime = named ?? (isCleared ? defaults.runtime : (config['runtime'] ?? defaults.runtime))
  const system = write.system === undefined ? keep(write.prompt, agent.system, '') : (write.system ?? '')
  return {
    name: write.name,
    owner_id: write.owner_id,
    model: keep(write.model, agent.model, defaults.model),
    system,
    description: keep(write.description, agent.description, null),
    harness: String(runtime),
    tools: keep(write.tools as unknown, agent.tools, {}),
    config: { ...config, runtime },
    skills: agent.skills.filter(({ id }) => system.includes(skillMarker(id))),
  }
}

/** Top-level keys of `given` replace those of `current`; a null key is removed. */
function mergeConfig(current: Agent['config'], given: AgentWrite['config']): Agent['config'] {
  const merged = Object.entries({ ...current, ...given }).filter(([, value]) => value !== null)
  return Object.fromEntries(merged)
}
