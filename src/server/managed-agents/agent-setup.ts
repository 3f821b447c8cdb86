import type { Agent } from '../../contract/agents.ts'
import type { AttachedSkill } from '../../contract/attached-skill.ts'
import type {
  ManagedMcpServer,
  ManagedModel,
  ManagedMultiagent,
  ManagedSkill,
  ManagedTool,
} from '../../contract/managed-agents.ts'
import type { StoredAgent } from '../agents/stored-agent.ts'
import { multiagentConfig } from './multiagent.ts'
import { storedTools } from './tool-entries.ts'

/** A prompt and the skill blocks in it. */
export type Carrier = Pick<StoredAgent, 'system' | 'skills'>

/** A skill of the library, in the version that a setup asks for. */
export interface FoundSkill {
  readonly id: string
  readonly name: string
  readonly content: string
  /** As the setup names it; undefined: the default version. */
  readonly version?: string | undefined
  /** True for a folder with other files than SKILL.md. */
  readonly hasOtherFiles?: boolean
}

/** Inserts skill blocks into a prompt and finds them again. */
export interface SkillBlocks {
  readonly attach: (carrier: Carrier, skill: FoundSkill) => Carrier
  readonly detachAll: (carrier: Carrier) => Carrier
  readonly attachedIds: (carrier: Carrier) => string[]
}

/** Settings of an agent in the dialect. An absent field is unchanged, null clears it. */
export interface Setup {
  readonly model?: ManagedModel
  readonly system?: string | null
  readonly tools?: readonly ManagedTool[] | null
  readonly mcp_servers?: readonly ManagedMcpServer[] | null
  readonly skills?: readonly ManagedSkill[] | null
  /** Only of agents: a session calls the agents that its agent calls. */
  readonly multiagent?: ManagedMultiagent | null
}

/** The stored fields that a setup determines. */
export type SetupFields = Pick<StoredAgent, 'model' | 'system' | 'skills' | 'tools' | 'config'>

interface Library {
  readonly blocks: SkillBlocks
  /** The skills of `setup` that exist in the caller's library. */
  readonly found: readonly FoundSkill[]
}

/**
 * Returns the stored fields after a setup. Settings without a field of ours go to `config`. Source: Dialects, section
 * 1.3.
 */
export function withSetup<F extends SetupFields>(agent: F, setup: Setup, library: Library): F {
  const { model, tools, mcp_servers: servers } = setup
  return {
    ...agent,
    ...(model !== undefined && { model: modelId(model) }),
    ...withPrompt(agent, setup, library),
    ...(tools !== undefined && { tools: storedTools(tools) }),
    config: configOf(agent.config, {
      ...(model !== undefined && { model_config: modelConfig(model) }),
      ...(servers !== undefined && { mcp_servers: servers }),
      ...(setup.multiagent !== undefined && multiagentConfig(agent.config, setup.multiagent)),
      ...(setup.skills !== undefined && { skills: unknownSkills(setup.skills, library.found) }),
    }),
  }
}

/** A skill that may be in our library. */
export interface WantedSkill {
  readonly id: string
  /** Undefined: the default version. */
  readonly version: string | undefined
  /** Path in the request. */
  readonly field: string
}

/** Returns the skills in a setup that may be in our library. */
export const wantedSkills = ({ skills }: Setup): WantedSkill[] =>
  (skills ?? []).flatMap(({ type, skill_id: id, version }, at) => {
    if (type !== 'custom') return []
    return [{ id, version: !version || version === 'latest' ? undefined : version, field: `skills[${at}]` }]
  })

export const modelId = (model: ManagedModel): string => (typeof model === 'string' ? model : model.id)

function modelConfig(model: ManagedModel): Readonly<Record<string, unknown>> | undefined {
  if (typeof model === 'string') return undefined
  const { effort, speed, inference_geo } = model
  return {
    ...(effort && { effort: typeof effort === 'string' ? { type: effort } : { type: effort.type } }),
    ...(speed && { speed }),
    ...(inference_geo && { inference_geo }),
  }
}

/** Returns the new prompt with its skill blocks. */
function withPrompt(agent: Carrier, { system, skills }: Setup, { blocks, found }: Library): Carrier {
  const { system: current, skills: before } = agent
  if (system === undefined && skills === undefined) return { system: current, skills: before }
  const base: Carrier = {
    system: system === undefined ? blocks.detachAll(agent).system : (system ?? ''),
    skills: [],
  }
  if (skills !== undefined) return found.reduce(blocks.attach, base)
  const remaining = before.filter(({ id }) => blocks.attachedIds(agent).includes(id))
  return { system: base.system + remaining.map(({ block }: AttachedSkill) => block).join(''), skills: remaining }
}

/** Returns the names of the skills of a setup that have other files than SKILL.md. */
export function ignoredFiles(setup: Setup, found: readonly FoundSkill[]): string[] {
  const folders = new Set(found.filter(skill => skill.hasOtherFiles).map(({ id }) => id))
  return wantedSkills(setup).flatMap(({ id, field }) => (folders.has(id) ? [`${field}.files`] : []))
}

/** Returns the skills that our library does not have; external runtimes may have them. */
const unknownSkills = (skills: readonly ManagedSkill[] | null, found: readonly FoundSkill[]): ManagedSkill[] =>
  (skills ?? [])
    .filter(({ skill_id }) => found.every(({ id }) => id !== skill_id))
    .map(({ type, skill_id, version }) => ({ type, skill_id, version: version ?? 'latest' }))

/** Returns `current` with the keys of `given` replaced; empty values remove the key. */
export function configOf(current: Agent['config'], given: Readonly<Record<string, unknown>>): Agent['config'] {
  const remaining = Object.entries(current).filter(([key]) => !Object.hasOwn(given, key))
  return Object.fromEntries([...remaining, ...Object.entries(given).filter(([, value]) => hasValue(value))])
}

function hasValue(value: unknown): boolean {
  if (value === undefined || value === null) return false
  return typeof value !== 'object' || Object.keys(value).length > 0
}
