import type { RuntimeTool } from '../../../../../src/contract/runtimes.ts'
import { isRecord, recordOf } from '../../../data/json.ts'

type Fields = Readonly<Record<string, unknown>>

/** What happens when the model calls a tool. A denied tool is not shown to the model. */
export type Policy = 'allow' | 'ask' | 'deny'

/** A tool that every agent of the runtime can have. */
export type ToolChoice = Pick<RuntimeTool, 'id' | 'enabled_by_default'>

/** An MCP server of an agent. */
export interface ServerSetup {
  readonly name: string
  /** Undefined for a registered server. */
  readonly url: string | undefined
  /** Of the tools without a separate policy. */
  readonly policy: Policy
  readonly tools: Readonly<Record<string, Policy>>
}

/** The tools of an agent, as the form shows them. */
export interface ToolSetup {
  readonly builtin: Readonly<Record<string, Policy>>
  readonly servers: readonly ServerSetup[]
  /** Entries of custom tools, as stored. */
  readonly custom: readonly Fields[]
  /** Entries that the form does not know; they stay. */
  readonly others: readonly unknown[]
}

/** What an agent stores about its tools. */
interface Stored {
  readonly tools: unknown
  /** `config.mcp_servers` */
  readonly servers: unknown
}

/** Tools that one entry of the type below selects. */
const toolset: readonly string[] = ['bash', 'read', 'write', 'edit', 'glob', 'grep']
const toolsetType = 'agent_toolset_20260401'
/** They come with `bash`. */
const companions: readonly string[] = ['bash_output', 'bash_kill']

const policies: Readonly<Record<string, Policy>> = {
  allow: 'allow',
  always_allow: 'allow',
  auto: 'allow',
  ask: 'ask',
  always_ask: 'ask',
  deny: 'deny',
  always_deny: 'deny',
}

/** Tools that a person can choose. */
export const choosable = <Tool extends ToolChoice>(known: readonly Tool[]): readonly Tool[] =>
  known.filter(({ id }) => !companions.includes(id))

/** Reads what an agent stores, by the rules of the service. */
export function readSetup({ tools, servers }: Stored, known: readonly ToolChoice[]): ToolSetup {
  const entries = entriesOf(tools)
  const names = choosable(known).map(({ id }) => id)
  const isDefault = entries.length === 0
  const builtin = new Map<string, Policy>(
    choosable(known).map(tool => [tool.id, isDefault && tool.enabled_by_default ? 'allow' : 'deny']),
  )
  const others: unknown[] = []
  for (const entry of entries) if (!readEntry(entry, builtin, names)) others.push(entry)
  if (isDefault && isRecord(tools)) {
    for (const name of names) if (tools[name] !== undefined) builtin.set(name, policyOf([settingsOf(tools[name])]))
  }
  return {
    builtin: Object.fromEntries(builtin),
    servers: readServers(entries, servers),
    custom: entries.filter(isRecord).filter(({ type }) => type === 'custom'),
    others,
  }
}

const settingsOf = (value: unknown): Fields => (isRecord(value) ? value : { enabled: value })

function entriesOf(tools: unknown): readonly unknown[] {
  if (Array.isArray(tools)) return tools
  return isRecord(tools) && typeof tools['type'] === 'string' ? [tools] : []
}

/** Returns false for an entry that the form does not know. */
function readEntry(entry: unknown, builtin: Map<string, Policy>, names: readonly string[]): boolean {
  const { type, ...fields } = recordOf(entry)
  if (type === 'custom' || type === 'mcp_toolset') return true
  if (typeof type !== 'string') return false
  if (names.includes(type)) {
    builtin.set(type, policyOf([fields]))
    return true
  }
  if (!/^agent_toolset_\d{8}$/.test(type)) return false
  const common = recordOf(fields['default_config'])
  for (const name of toolset) if (names.includes(name)) builtin.set(name, policyOf([common]))
  for (const config of configsOf(fields)) {
    const name = String(config['name'])
    if (names.includes(name)) builtin.set(name, policyOf([config, common]))
  }
  return true
}

const configsOf = ({ configs }: Fields): readonly Fields[] => (Array.isArray(configs) ? configs.filter(isRecord) : [])

/** Uses each setting from the first place that has it. An unknown policy means `ask`, as in the service. */
function policyOf(places: readonly Fields[]): Policy {
  const setting = (name: string) =>
    places.map(place => place[name]).find(value => value !== undefined && value !== null)
  if (setting('enabled') === false) return 'deny'
  const policy = setting('permission_policy')
  if (policy === undefined) return 'allow'
  const name = isRecord(policy) ? policy['type'] : policy
  return policies[String(name)] ?? 'ask'
}

function readServers(entries: readonly unknown[], servers: unknown): ServerSetup[] {
  const declared = (Array.isArray(servers) ? servers : []).map(server =>
    isRecord(server)
      ? { name: String(server['name']), url: String(server['url']) }
      : { name: String(server), url: undefined },
  )
  const toolsets = new Map(
    entries
      .filter(isRecord)
      .filter(({ type }) => type === 'mcp_toolset')
      .map(entry => [String(entry['mcp_server_name']), entry]),
  )
  const names = new Set([...declared.map(({ name }) => name), ...toolsets.keys()])
  return [...names].map(name => ({
    name,
    url: declared.find(server => server.name === name)?.url,
    ...serverPolicies(toolsets.get(name), entries.length === 0),
  }))
}

function serverPolicies(entry: Fields | undefined, isDefault: boolean): Pick<ServerSetup, 'policy' | 'tools'> {
  if (!entry) return { policy: isDefault ? 'allow' : 'deny', tools: {} }
  const common = recordOf(entry['default_config'])
  const own = configsOf(entry).map(config => [String(config['name']), policyOf([config, common])] as const)
  return { policy: policyOf([common]), tools: Object.fromEntries(own) }
}

/** Returns what an agent stores for a setup. */
export function storedOf(setup: ToolSetup, known: readonly ToolChoice[]): Stored {
  const { builtin, servers, custom, others } = setup
  const stored = servers.map(({ name, url }) => (url === undefined ? name : { type: 'url', name, url }))
  const serverList = stored.length === 0 ? undefined : stored
  const isDefault =
    custom.length + others.length === 0 &&
    choosable(known).every(tool => builtin[tool.id] === (tool.enabled_by_default ? 'allow' : 'deny')) &&
    servers.every(({ policy, tools }) => policy === 'allow' && Object.keys(tools).length === 0)
  if (isDefault) return { tools: {}, servers: serverList }
  const entries = [...builtinEntries(builtin), ...servers.map(serverEntry), ...custom, ...others]
  // An empty list would mean all tools.
  const none = { type: toolsetType, default_config: { enabled: false } }
  return { tools: entries.length === 0 ? [none] : entries, servers: serverList }
}

const ask = { permission_policy: { type: 'always_ask' } } as const

const settingOf = (policy: Policy): Fields => (policy === 'deny' ? { enabled: false } : policy === 'ask' ? ask : {})

function builtinEntries(builtin: ToolSetup['builtin']): readonly Fields[] {
  const inSet = toolset.filter(name => name in builtin)
  const isSet = inSet.some(name => builtin[name] !== 'deny')
  const configs = inSet
    .filter(name => builtin[name] !== 'allow')
    .map(name => ({ name, ...settingOf(builtin[name] ?? 'deny') }))
  const rest = Object.entries(builtin).filter(([name, policy]) => !toolset.includes(name) && policy !== 'deny')
  return [
    ...(isSet ? [{ type: toolsetType, ...(configs.length > 0 && { configs }) }] : []),
    ...rest.map(([type, policy]) => ({ type, ...settingOf(policy) })),
  ]
}

function serverEntry({ name, policy, tools }: ServerSetup): Fields {
  const configs = Object.entries(tools).map(([tool, own]) => ({
    name: tool,
    ...(own === 'deny'
      ? { enabled: false }
      : { enabled: true, permission_policy: { type: own === 'ask' ? 'always_ask' : 'always_allow' } }),
  }))
  return {
    type: 'mcp_toolset',
    mcp_server_name: name,
    ...(policy !== 'allow' && { default_config: settingOf(policy) }),
    ...(configs.length > 0 && { configs }),
  }
}
