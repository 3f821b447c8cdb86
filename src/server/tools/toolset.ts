import { bashTool } from './bash.ts'
import { bashKillTool, bashOutputTool } from './bash-jobs.ts'
import { editTool } from './edit.ts'
import { globTool } from './glob.ts'
import { grepTool } from './grep.ts'
import { saveMemoryTool, searchMemoryTool } from './memory.ts'
import { readTool } from './read.ts'
import { todoTool } from './todo.ts'
import type { ServerContext, Tool } from './tool.ts'
import { webFetchTool, webSearchTool } from './web/tools.ts'
import { writeTool } from './write.ts'

/** The tools of `agent_toolset`. */
export const toolsetTools: readonly Tool[] = [
  bashTool,
  readTool,
  writeTool,
  editTool,
  globTool,
  grepTool,
  webFetchTool,
  webSearchTool,
]

/** Tools that an agent has with another one. They need no policy: a person has approved the call that they are about. */
const companions: ReadonlyMap<string, string> = new Map([
  ['bash_output', 'bash'],
  ['bash_kill', 'bash'],
])

/** The tools of a session besides those for memories. */
export const builtinTools: readonly Tool[] = [
  bashTool,
  bashOutputTool,
  bashKillTool,
  ...toolsetTools.filter(tool => tool !== bashTool),
  todoTool,
]

/** Tools that reach the network: an agent has them only if its `tools` name them. */
const onlyByName: ReadonlySet<string> = new Set(['web_fetch', 'web_search'])

/** Reports whether an agent whose `tools` are absent has the tool. */
export const isEnabledByDefault = (name: string): boolean => !onlyByName.has(name)

/** The tools for the agent's memories; a session without an agent has none. */
export const memoryTools: readonly Tool<ServerContext>[] = [saveMemoryTool, searchMemoryTool]

/** The tools that an agent can have. */
export const everyTool: readonly Tool[] = [...builtinTools, ...memoryTools]

/** What the server does when the model calls a tool. */
export type ToolPolicy = 'allow' | 'ask' | 'deny'

export interface EnabledTool {
  readonly tool: Tool
  readonly policy: ToolPolicy
}

export interface Toolset {
  readonly tools: readonly EnabledTool[]
  /** Ignored parts of `tools`, for the operator. */
  readonly warnings: readonly string[]
}

const policies: Readonly<Record<string, ToolPolicy>> = {
  allow: 'allow',
  always_allow: 'allow',
  auto: 'allow',
  ask: 'ask',
  always_ask: 'ask',
  deny: 'deny',
  always_deny: 'deny',
}

/** Accepted names of policies. */
export const toolPolicies: readonly string[] = Object.keys(policies)

/** Returns the policy that a setting names: a name, or an object with one as `type`; undefined for another value. */
export function toolPolicyOf(setting: unknown): ToolPolicy | undefined {
  const type = isFields(setting) ? setting['type'] : setting
  return typeof type === 'string' && Object.hasOwn(policies, type) ? policies[type] : undefined
}

/** True for the type of an entry that selects the whole toolset. */
export const isToolsetType = (type: string): boolean => /^agent_toolset_\d{8}$/.test(type)

type Fields = Readonly<Record<string, unknown>>

/**
 * Returns the built-in tools that an agent's `tools` value enables, in a fixed order. An absent value, an empty list
 * and an unknown object enable all but those that reach the network. A list with entries enables only what they name,
 * so that a misspelt entry never enables more. The last of several entries for one tool applies. Custom tools and those of
 * MCP servers are not part of the toolset. Source: Dialects, section 1.3.
 */
export function toolsFor(agentTools: unknown): Toolset {
  const warnings: string[] = []
  const entries = entriesOf(agentTools)
  const byDefault = everyTool.filter(({ name }) => isEnabledByDefault(name))
  const chosen = new Map<string, ToolPolicy>(entries.length === 0 ? byDefault.map(({ name }) => [name, 'allow']) : [])
  for (const entry of entries) applyEntry(entry, chosen, warnings)
  if (entries.length === 0 && isFields(agentTools)) applyNames(agentTools, chosen, warnings)
  const tools = everyTool.flatMap(tool => {
    const policy = policyIn(chosen, tool.name)
    return policy ? [{ tool, policy }] : []
  })
  return { tools, warnings }
}

function policyIn(chosen: ReadonlyMap<string, ToolPolicy>, name: string): ToolPolicy | undefined {
  const leader = companions.get(name)
  if (leader === undefined) return chosen.get(name)
  return ['allow', 'ask'].includes(chosen.get(leader) ?? 'deny') ? 'allow' : undefined
}

/** Treats an object with a `type` as a list with one entry. */
function entriesOf(agentTools: unknown): readonly unknown[] {
  if (Array.isArray(agentTools)) return agentTools
  return isFields(agentTools) && typeof agentTools['type'] === 'string' ? [agentTools] : []
}

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Names of the tools that an entry can enable. */
export const toolNames: readonly string[] = everyTool.flatMap(({ name }) => (companions.has(name) ? [] : [name]))

export const isToolName = (name: string): boolean => toolNames.includes(name)

/** Reports whether a built-in tool has the name, also one that comes with another tool. */
export const isBuiltinName = (name: string): boolean => everyTool.some(tool => tool.name === name)

/** Reports whether the name is that of a tool that works in the sandbox. */
export const isSandboxTool = (name: string): boolean => builtinTools.some(tool => tool.name === name)

function applyEntry(entry: unknown, chosen: Map<string, ToolPolicy>, warnings: string[]): void {
  const type = isFields(entry) ? entry['type'] : undefined
  if (!isFields(entry) || typeof type !== 'string') {
    warnings.push('tools: skipped an entry without a type')
  } else if (isToolsetType(type)) {
    applyToolset(entry, chosen, warnings)
  } else if (isToolName(type)) {
    choose(type, [entry], chosen, warnings)
  } else if (type !== 'custom' && type !== 'mcp_toolset') {
    warnings.push(`tools: skipped an entry of unknown type ${JSON.stringify(type.slice(0, 100))}`)
  }
}

/** Applies `{"bash": false}` and `{"bash": {config}}`; the other tools are unchanged. */
function applyNames(names: Fields, chosen: Map<string, ToolPolicy>, warnings: string[]): void {
  for (const { name } of everyTool) {
    const config = names[name]
    if (config !== undefined) choose(name, [isFields(config) ? config : { enabled: config }], chosen, warnings)
  }
}

function applyToolset(entry: Fields, chosen: Map<string, ToolPolicy>, warnings: string[]): void {
  const common = isFields(entry['default_config']) ? entry['default_config'] : {}
  for (const { name } of toolsetTools) if (isEnabledByDefault(name)) choose(name, [common], chosen, warnings)
  const configs = Array.isArray(entry['configs']) ? entry['configs'] : []
  for (const config of configs) {
    const name = isFields(config) && typeof config['name'] === 'string' ? config['name'] : ''
    if (isToolName(name)) choose(name, [config, common], chosen, warnings)
    else warnings.push(`tools: unknown built-in tool ${JSON.stringify(name.slice(0, 100))}`)
  }
}

/** Uses each setting from the first of `configs` that has it. */
function choose(name: string, configs: readonly Fields[], chosen: Map<string, ToolPolicy>, warnings: string[]): void {
  const setting = (field: string) =>
    configs.find(config => config[field] !== undefined && config[field] !== null)?.[field]
  if (setting('enabled') === false) {
    chosen.delete(name)
    return
  }
  chosen.set(name, policyOf(name, setting('permission_policy'), warnings))
}

/** An unknown policy means `ask`, because its author wanted some restriction. */
function policyOf(name: string, setting: unknown, warnings: string[]): ToolPolicy {
  if (setting === undefined) return 'allow'
  const policy = toolPolicyOf(setting)
  if (policy) return policy
  warnings.push(`tools: unknown permission policy of ${name}; using ask`)
  return 'ask'
}
