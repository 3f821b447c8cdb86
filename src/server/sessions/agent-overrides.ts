import { maxPromptLength } from '../../contract/agents.ts'
import type { AttachedSkill } from '../../contract/attached-skill.ts'
import { isAbsent, isRecord, type Json } from '../platform/json.ts'
import type { RunSession } from '../runtimes/runtime.ts'

const isRecordList = (value: unknown): boolean => Array.isArray(value) && value.every(isRecord)

/** True for blocks of skills within a prompt. */
const isSkillList = (value: unknown): value is readonly AttachedSkill[] =>
  Array.isArray(value) &&
  value.every(
    skill =>
      isRecord(skill) &&
      [skill['id'], skill['name'], skill['block']].every(field => typeof field === 'string') &&
      ['string', 'undefined'].includes(typeof skill['version']),
  )

/** Keys of `config` that a session may override. Limits and the runtime always come from the agent. */
const settingRules: Readonly<Record<string, readonly [isMet: (value: unknown) => boolean, must: string]>> = {
  mcp_servers: [value => Array.isArray(value), 'be a list'],
  skills: [isRecordList, 'be a list of objects'],
  model_config: [isRecord, 'be an object'],
}
const settings = Object.keys(settingRules)
const fields = ['system', 'skills', 'tools', 'config']

/**
 * Returns the first problem of the shape of `agent_overrides`: its path and what is wrong. What the runtime can call is
 * checked where the agent's own tools and servers are.
 */
export function overridesProblem(given: unknown): readonly [field: string, problem: string] | undefined {
  const place = 'environment.agent_overrides'
  if (isAbsent(given)) return undefined
  if (!isRecord(given)) return [place, 'must be an object']
  const unknown = Object.keys(given).find(name => !fields.includes(name))
  if (unknown !== undefined) return [`${place}.${shown(unknown)}`, `is unknown; known fields: ${fields.join(', ')}`]
  const { system, skills, tools, config } = given
  if (!isAbsent(system) && (typeof system !== 'string' || system.length > maxPromptLength))
    return [`${place}.system`, `must be a text of at most ${maxPromptLength} characters`]
  if (!isAbsent(skills) && !isSkillList(skills))
    return [`${place}.skills`, 'must be a list of objects with id, name and block']
  if (!isAbsent(tools) && !Array.isArray(tools) && !isRecord(tools))
    return [`${place}.tools`, 'must be a list or an object']
  if (isAbsent(config)) return undefined
  return isRecord(config) ? configProblem(config, `${place}.config`) : [`${place}.config`, 'must be an object']
}

function configProblem(config: Json, place: string): readonly [field: string, problem: string] | undefined {
  for (const [name, value] of Object.entries(config)) {
    const [isMet, must] = (Object.hasOwn(settingRules, name) && settingRules[name]) || []
    if (!isMet)
      return [`${place}.${shown(name)}`, `cannot be set for one session; a session may set ${settings.join(', ')}`]
    if (!isAbsent(value) && !isMet(value)) return [`${place}.${name}`, `must ${must}`]
  }
  return undefined
}

const shown = (name: string): string => name.slice(0, 100)

/** Returns the agent with the `agent_overrides` of the session's environment applied. Source: Dialects, section 1.5. */
export function withOverrides<A extends Pick<RunSession, 'system' | 'tools' | 'config'>>(
  agent: A,
  { agent_overrides: given }: RunSession['environment'],
): A {
  // Sessions of older releases may have overrides of any type.
  if (typeof given !== 'object' || given === null) return agent
  const { system, skills, tools, config } = given as Readonly<Record<'system' | 'skills' | 'tools' | 'config', unknown>>
  const changed = typeof config === 'object' && config !== null ? config : {}
  const allowed = Object.entries(changed).filter(([key]) => settings.includes(key))
  return {
    ...agent,
    ...(typeof system === 'string' && { system }),
    ...(isSkillList(skills) && { skills }),
    ...(tools !== undefined && { tools }),
    config: { ...agent.config, ...Object.fromEntries(allowed) },
  }
}
