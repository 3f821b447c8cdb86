import { isRecord, type Json, recordsOf } from '../../platform/json.ts'
import { isToolName, isToolsetType, toolNames, toolPolicies } from '../../tools/toolset.ts'
import type { ApiSpec, Finding } from '../runtime.ts'

/** What an agent has of tools, and which runtime it is for. */
interface Asked {
  readonly spec: ApiSpec | 'builtin'
  /** The agent's `tools`, as sent. */
  readonly tools: unknown
  /** Its `config.mcp_servers`. */
  readonly servers: readonly Json[]
}

/** The items of `tools` that a runtime cannot carry, and those that nobody may store. Rulings: 1. */
export function toolFindings(asked: Asked): Finding[] {
  const { tools } = asked
  if (Array.isArray(tools)) return tools.flatMap((entry, at) => ofEntry(entry, `tools[${at}]`, asked))
  if (!isRecord(tools)) return []
  if (typeof tools['type'] === 'string') return ofEntry(tools, 'tools', asked)
  return Object.entries(tools).flatMap(([name, value]) => ofName(name, value, asked))
}

/** A wrong entry of a known type is refused on every runtime: whoever wrote it wanted something that it does not say. */
function ofEntry(entry: unknown, field: string, asked: Asked): Finding[] {
  if (!isRecord(entry) || typeof entry['type'] !== 'string') return [{ field }]
  const { type } = entry
  if (isToolsetType(type)) return wrongToolset(entry, field) ?? ofToolset(entry, field, asked)
  if (isToolName(type)) return wrongSetting(entry, field) ?? (readsTools(asked) ? [] : [{ field }])
  if (type === 'mcp_toolset') return ofMcp(entry, field, asked)
  if (type === 'custom')
    return [{ field, problem: 'of type custom is not possible yet: nobody could answer its calls' }]
  return [{ field }]
}

/** `{"bash": false}` and `{"bash": {config}}`. */
function ofName(name: string, value: unknown, asked: Asked): Finding[] {
  const field = `tools.${name}`
  if (value === null || value === undefined) return []
  if (!isToolName(name) || !readsTools(asked)) return [{ field }]
  if (typeof value === 'boolean') return []
  if (!isRecord(value)) return [{ field, problem: 'must be true, false or an object' }]
  return wrongSetting(value, field) ?? []
}

/** True where tools are named as on the runtime of the service itself. */
const readsTools = ({ spec }: Asked): boolean => spec !== 'cursor' && spec !== 'claude_managed_agents'

function ofToolset(entry: Json, field: string, asked: Asked): Finding[] {
  if (asked.spec === 'cursor') return [{ field }]
  if (!readsTools(asked)) return []
  return recordsOf(entry['configs']).flatMap(({ name, enabled }, at) =>
    enabled === false || isToolName(String(name)) ? [] : [{ field: `${field}.configs[${at}]` }],
  )
}

function ofMcp({ mcp_server_name: name }: Json, field: string, { spec, servers }: Asked): Finding[] {
  if (spec !== 'claude_managed_agents') {
    return [{ field, problem: 'of type mcp_toolset is not possible: the runtime calls no MCP servers' }]
  }
  if (typeof name !== 'string' || name.trim() === '')
    return [{ field: `${field}.mcp_server_name`, problem: 'is required' }]
  return servers.some(server => server['name'] === name) ? [] : [{ field }]
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

const isGiven = (value: unknown): boolean => value !== undefined && value !== null
