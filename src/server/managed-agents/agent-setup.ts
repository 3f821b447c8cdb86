import type { Agent } from '../../contract/agents.ts'
import type { AttachedSkill } from '../../contract/attached-skill.ts'
import type { ManagedMcpServer, ManagedModel, ManagedSkill, ManagedTool } from '../../contract/managed-agents.ts'
import type { Skill } from '../../contract/skills.ts'
import type { StoredAgent } from '../agents/store.ts'
import { storedTools } from './tool-entries.ts'

/** A prompt, and the blocks of skills in it. */
export type Carrier = Pick<StoredAgent, 'system' | 'skills'>

/** How skills are written into a prompt, and found in it again. */
export interface SkillBlocks {
  readonly attach: (carrier: Carrier, skill: Pick<Skill, 'id' | 'name' | 'content'>) => Carrier
  readonly detachAll: (carrier: Carrier) => Carrier
  readonly carriedIds: (carrier: Carrier) => string[]
}

/** What an agent is made of, as the dialect writes it. Absent means unchanged, null clears. */
export interface Setup {
  readonly model?: ManagedModel
  readonly system?: string | null
  readonly tools?: readonly ManagedTool[] | null
  readonly mcp_servers?: readonly ManagedMcpServer[] | null
  readonly skills?: readonly ManagedSkill[] | null
}

/** The fields of ours that a setup decides. */
export type SetupFields = Pick<StoredAgent, 'model' | 'system' | 'skills' | 'tools' | 'config'>

interface Library {
  readonly blocks: SkillBlocks
  /** The skills of `setup` that the caller's library has. */
  readonly found: readonly Skill[]
}

/** Our fields after a setup. What the dialect knows and we do not is kept in `config`. Dialects: section 1.3. */
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
      ...(setup.skills !== undefined && { skills: keptSkills(setup.skills, library.found) }),
    }),
  }
}

/** Ids of the skills that a setup names and that may be in our library. */
export const wantedSkills = ({ skills }: Setup): string[] =>
  (skills ?? []).filter(({ type }) => type === 'custom').map(({ skill_id }) => skill_id)

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

/** The new text with the skills that it carries from now on. */
function withPrompt(agent: Carrier, { system, skills }: Setup, { blocks, found }: Library): Carrier {
  const { system: current, skills: before } = agent
  if (system === undefined && skills === undefined) return { system: current, skills: before }
  const base: Carrier = {
    system: system === undefined ? blocks.detachAll(agent).system : (system ?? ''),
    skills: [],
  }
  if (skills !== undefined) return found.reduce(blocks.attach, base)
  const kept = before.filter(({ id }) => blocks.carriedIds(agent).includes(id))
  return { system: base.system + kept.map(({ block }: AttachedSkill) => block).join(''), skills: kept }
}

/** Skills that our library does not have: runtimes elsewhere may know them. */
const keptSkills = (skills: readonly ManagedSkill[] | null, found: readonly Skill[]): ManagedSkill[] =>
  (skills ?? [])
    .filter(({ skill_id }) => found.every(({ id }) => id !== skill_id))
    .map(({ type, skill_id, version }) => ({ type, skill_id, version: version ?? 'latest' }))

/** With `given` in the place of what was there; a key that says nothing is left out. */
export function configOf(current: Agent['config'], given: Readonly<Record<string, unknown>>): Agent['config'] {
  const kept = Object.entries(current).filter(([key]) => !Object.hasOwn(given, key))
  return Object.fromEntries([...kept, ...Object.entries(given).filter(([, value]) => saysSomething(value))])
}

function saysSomething(value: unknown): boolean {
  if (value === undefined || value === null) return false
  return typeof value !== 'object' || Object.keys(value).length > 0
}
