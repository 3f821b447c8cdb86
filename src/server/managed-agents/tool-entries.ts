import type { ManagedTool } from '../../contract/managed-agents.ts'
import { isToolsetType, toolsetTools } from '../tools/toolset.ts'

type Fields = Readonly<Record<string, unknown>>

const toolsetType = 'agent_toolset_20260401'
const isToolset = (type: unknown): boolean => typeof type === 'string' && isToolsetType(type)

/** Tools that an entry of ours may name by type: `{type: 'bash'}`. */
const singleTools: readonly string[] = toolsetTools.map(({ name }) => name)

/** An empty list means all tools for us and no tools in the dialect: this entry means no tools in both. */
const noTools: Fields = { type: toolsetType, default_config: { enabled: false } }
const everyTool: Fields = { type: toolsetType }

/** Returns the stored form of `tools` of the dialect. */
export const storedTools = (tools: readonly ManagedTool[] | null | undefined): readonly Fields[] =>
  tools && tools.length > 0 ? tools : [noTools]

/** Returns `tools` of an agent, in whichever form they were written, with all defaults resolved. */
export function shownTools(stored: unknown): Fields[] {
  if (Array.isArray(stored)) return stored.length === 0 ? [toolset(everyTool)] : ofList(stored.filter(isFields))
  if (!isFields(stored)) return [toolset(everyTool)]
  return typeof stored['type'] === 'string' ? ofList([stored]) : [toolset({ ...everyTool, configs: byName(stored) })]
}

function ofList(entries: readonly Fields[]): Fields[] {
  const singles = entries.filter(({ type }) => singleTools.includes(String(type)))
  const configs = singles.map(({ type, ...config }) => ({ enabled: true, ...config, name: type }))
  const gathered = singles.length > 0 ? [toolset({ ...noTools, configs })] : []
  const others = entries.filter(entry => !singles.includes(entry) && !isNoTools(entry))
  return [...others.map(shownEntry), ...gathered]
}

const isNoTools = ({ type, default_config: settings, ...more }: Fields): boolean =>
  isToolset(type) &&
  isFields(settings) &&
  settings['enabled'] === false &&
  Object.keys(settings).length === 1 &&
  Object.keys(more).length === 0

/** Converts `{"bash": false}` and `{"bash": {config}}`. */
const byName = (names: Fields): Fields[] =>
  singleTools.flatMap(name => {
    const value = names[name]
    if (value === undefined) return []
    return [isFields(value) ? { ...value, name } : { name, enabled: value !== false }]
  })

function shownEntry(entry: Fields): Fields {
  if (isToolset(entry['type'])) return toolset(entry)
  if (entry['type'] === 'mcp_toolset') return { ...resolved(entry, ({ name }) => ({ name })), type: 'mcp_toolset' }
  if (entry['type'] === 'custom') return { description: '', ...entry }
  return entry
}

const toolset = (entry: Fields): Fields => ({
  ...resolved(entry, ({ name }) => ({ name, type: name })),
  type: toolsetType,
})

/** Returns the entry with complete `default_config` and `configs`. */
function resolved(entry: Fields, named: (config: Fields) => Fields): Fields {
  const given = isFields(entry['default_config']) ? entry['default_config'] : {}
  const configs = Array.isArray(entry['configs']) ? entry['configs'].filter(isFields) : []
  return {
    ...entry,
    default_config: setting([given]),
    configs: configs.map(config => ({ ...config, ...named(config), ...setting([config, given]) })),
  }
}

/** Uses each setting from the first of `configs` that has it. A tool that is always denied is disabled. */
function setting(configs: readonly Fields[]): Fields {
  const first = (field: string) =>
    configs.find(config => config[field] !== undefined && config[field] !== null)?.[field]
  const policy = first('permission_policy')
  const word = String(isFields(policy) ? policy['type'] : (policy ?? 'always_allow'))
  const isDenied = word === 'deny' || word === 'always_deny'
  const type = policies[word] ?? 'always_ask'
  return { enabled: first('enabled') !== false && !isDenied, permission_policy: { type } }
}

/** Maps our policies to those of the dialect. An unknown one means ask, as at run time. */
const policies: Readonly<Record<string, string>> = {
  allow: 'always_allow',
  always_allow: 'always_allow',
  auto: 'auto',
  ask: 'always_ask',
  always_ask: 'always_ask',
}

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
