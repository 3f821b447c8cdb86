import type { SettingSupport } from '../../config/runtime-specs.ts'
import { isRecord, type Json, recordsOf } from '../../platform/json.ts'
import { customEntryProblem } from '../../tools/custom-tools.ts'
import { agentServers } from '../../tools/mcp-toolset.ts'
import { isToolName, isToolsetType, toolNames, toolPolicies } from '../../tools/toolset.ts'
import type { Finding } from '../runtime.ts'

/** Tools of an agent, and what its runtime supports. */
interface RequestedTools {
  readonly support: SettingSupport
  /** The agent's `tools`, as sent. */
  readonly tools: unknown
  readonly config: Json
  /** Present for the service's own runtime. */
  readonly ownTools?: { readonly canSearch: boolean }
}

/** Tools that only the service's own runtime has. */
const onlyOwnTools: ReadonlySet<string> = new Set(['web_fetch', 'web_search', 'todo_write'])

const noSearch =
  'names web_search, but this server has no search provider; set web_search in its configuration file, or remove the tool'

/** Checks a named tool. */
function ofTool(name: string, field: string, requested: RequestedTools): Finding[] {
  const { ownTools } = requested
  if (!isToolName(name) || !readsTools(requested) || (onlyOwnTools.has(name) && !ownTools)) return [{ field }]
  return name === 'web_search' && !ownTools?.canSearch ? [{ field, problem: noSearch }] : []
}

/** Lists the items of `tools` that are invalid, or that the runtime does not support. */
export function toolFindings(requested: RequestedTools): Finding[] {
  const { tools } = requested
  if (Array.isArray(tools)) return ofList(tools, requested)
  if (!isRecord(tools)) return []
  if (typeof tools['type'] === 'string') return ofEntry(tools, 'tools', requested)
  return Object.entries(tools).flatMap(([name, value]) => ofName(name, value, requested))
}

function ofList(entries: readonly unknown[], requested: RequestedTools): Finding[] {
  const names: unknown[] = []
  return entries.flatMap((entry, at) => {
    const found = ofEntry(entry, `tools[${at}]`, requested, names)
    if (isRecord(entry) && entry['type'] === 'custom') names.push(entry['name'])
    return found
  })
}

/** An invalid entry of a known type is rejected on every runtime: it would not do what its author intended. */
function ofEntry(
  entry: unknown,
  field: string,
  requested: RequestedTools,
  customNames: readonly unknown[] = [],
): Finding[] {
  if (!isRecord(entry) || typeof entry['type'] !== 'string') return [{ field }]
  const { type } = entry
  if (isToolsetType(type)) return wrongToolset(entry, field) ?? ofToolset(entry, field, requested)
  if (isToolName(type)) return wrongSetting(entry, field) ?? (isOff(entry) ? [] : ofTool(type, field, requested))
  if (type === 'mcp_toolset') return ofMcp(entry, field, requested)
  if (type === 'custom') return ofCustom(entry, field, { requested, customNames })
  return [{ field }]
}

/** Checks the forms `{"bash": false}` and `{"bash": {config}}`. */
function ofName(name: string, value: unknown, requested: RequestedTools): Finding[] {
  const field = `tools.${name}`
  if (value === null || value === undefined) return []
  if (!isToolName(name) || !readsTools(requested)) return [{ field }]
  if (value === false) return []
  if (value === true) return ofTool(name, field, requested)
  if (!isRecord(value)) return [{ field, problem: 'must be true, false or an object' }]
  return wrongSetting(value, field) ?? (isOff(value) ? [] : ofTool(name, field, requested))
}

/** Reports whether the runtime reads tool names as the service's own runtime does. */
const readsTools = ({ support }: RequestedTools): boolean => support.tools === 'names'

function ofToolset(entry: Json, field: string, requested: RequestedTools): Finding[] {
  if (requested.support.tools === 'ignored') return [{ field }]
  if (!readsTools(requested)) return []
  return recordsOf(entry['configs']).flatMap(({ name, enabled }, at) =>
    ofConfig(String(name), { isOn: enabled !== false, field: `${field}.configs[${at}]`, requested }),
  )
}

interface ConfigPlace {
  readonly isOn: boolean
  readonly field: string
  readonly requested: RequestedTools
}

/** A misspelt name is rejected: the tool that its author meant would have the default policy. */
function ofConfig(name: string, { isOn, field, requested }: ConfigPlace): Finding[] {
  if (isToolName(name)) return isOn ? ofTool(name, field, requested) : []
  return [
    {
      field: `${field}.name`,
      problem: `${JSON.stringify(name.slice(0, 100))} is not a tool; the tools are ${toolNames.join(', ')}`,
    },
  ]
}

/** Whether a registered server and the named tools exist is checked elsewhere, since it depends on the caller. */
function ofMcp(entry: Json, field: string, { support, config }: RequestedTools): Finding[] {
  if (support.mcpServers === 'none') {
    return [{ field, problem: 'of type mcp_toolset is not supported: the runtime does not call MCP servers' }]
  }
  const { mcp_server_name: name } = entry
  const place = `${field}.mcp_server_name`
  if (typeof name !== 'string' || name.trim() === '') return [{ field: place, problem: 'is required' }]
  const isKnown = support.mcpServers === 'all' || agentServers(config).some(server => server.name === name)
  if (!isKnown) return [{ field: place, problem: `${JSON.stringify(name.slice(0, 100))} is not in mcp_servers` }]
  return wrongToolset(entry, field) ?? []
}

function ofCustom(
  entry: Json,
  field: string,
  { requested, customNames }: { readonly requested: RequestedTools; readonly customNames: readonly unknown[] },
): Finding[] {
  if (!requested.support.customTools)
    return [{ field, problem: 'of type custom is not supported: only the built-in runtime has custom tools' }]
  const wrong = customEntryProblem(entry, customNames)
  return wrong ? [{ field: `${field}${wrong.field}`, problem: wrong.problem }] : []
}

function wrongToolset({ default_config: common, configs }: Json, field: string): Finding[] | undefined {
  if (isGiven(common)) {
    const place = `${field}.default_config`
    const wrong = isRecord(common) ? wrongSetting(common, place) : [{ field: place, problem: 'must be an object' }]
    if (wrong) return wrong
  }
  if (!isGiven(configs)) return undefined
  if (!Array.isArray(configs)) return [{ field: `${field}.configs`, problem: 'must be a list' }]
  return configs.map((config, at) => wrongConfig(config, `${field}.configs[${at}]`)).find(wrong => wrong !== undefined)
}

function wrongConfig(config: unknown, field: string): Finding[] | undefined {
  if (!isRecord(config)) return [{ field, problem: 'must be an object' }]
  const { name } = config
  if (typeof name !== 'string' || name === '')
    return [{ field: `${field}.name`, problem: `must be a name such as ${toolNames[0]}` }]
  return wrongSetting(config, field)
}

function wrongSetting({ enabled, permission_policy: policy }: Json, field: string): Finding[] | undefined {
  if (isGiven(enabled) && typeof enabled !== 'boolean') {
    return [{ field: `${field}.enabled`, problem: 'must be true or false' }]
  }
  if (!isGiven(policy)) return undefined
  const word = isRecord(policy) ? policy['type'] : policy
  if (typeof word === 'string' && toolPolicies.includes(word)) return undefined
  return [{ field: `${field}.permission_policy`, problem: `must be one of ${toolPolicies.join(', ')}` }]
}

/** An entry that disables a tool has an effect on every runtime that reads tool names. */
const isOff = ({ enabled }: Json): boolean => enabled === false

const isGiven = (value: unknown): boolean => value !== undefined && value !== null
