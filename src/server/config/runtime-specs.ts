import type { ApiSpec, RuntimeTool } from '../../contract/runtimes.ts'

/** Settings of agents and sessions that a runtime uses. */
export interface SettingSupport {
  /** Fields of a session's `environment` that it uses. */
  readonly environment: readonly EnvironmentField[]
  /** True when the service clones the repository into the files of the session, unless a harness names an address. */
  readonly clones?: true
  /** How it reads an agent's `tools`: by name like the service's own runtime, as the toolsets of its provider, or not at all. */
  readonly tools: 'names' | 'toolsets' | 'ignored'
  /** MCP servers of its agents: registered ones and those given by URL, only the latter, or none. */
  readonly mcpServers: 'all' | 'urls' | 'none'
  /** True when its agents may have custom tools. */
  readonly customTools: boolean
}

export type EnvironmentField = 'repository' | 'ref' | 'auto_create_pr'

/** Properties of a protocol of runtimes that need no request. */
interface RuntimeSpec extends SettingSupport {
  /** What a harness names: an address to call, a program that the service starts, or either. Security: S30. */
  readonly target: 'address' | 'program' | 'either'
  /** True when its servers require a key. */
  readonly needsKey: boolean
  /** Tools that an agent can select by id; empty where the runtime decides by itself. */
  readonly listedTools: readonly RuntimeTool[]
  /** Present when every server has the runtime, with the protocol as its id. */
  readonly builtIn?: {
    readonly name: string
    readonly defaultBase: string
    /** Provider that issues its credential. */
    readonly provider: { readonly id: string; readonly name: string }
  }
}

/** Returns a tool that is enabled by default, with its name as id. */
export const listedTool = (id: string, description: string): RuntimeTool => ({
  id,
  name: id,
  description,
  enabled_by_default: true,
})

/** The tools of `agent_toolset_20260401`. Source: Dialects, section 1.3. */
const agentToolset = [
  listedTool('bash', 'Run shell commands'),
  listedTool('read', 'Read files'),
  listedTool('write', 'Write files'),
  listedTool('edit', 'Replace text in files'),
  listedTool('glob', 'Find files by name'),
  listedTool('grep', 'Search file contents'),
  listedTool('web_fetch', 'Read web pages'),
  listedTool('web_search', 'Search the web'),
]

/** Every protocol of runtimes. The built-in ones are listed in this order. Gaps: section 10. */
export const runtimeSpecs: Readonly<Record<ApiSpec, RuntimeSpec>> = {
  cursor: {
    target: 'address',
    needsKey: true,
    environment: ['repository', 'ref', 'auto_create_pr'],
    tools: 'ignored',
    mcpServers: 'none',
    customTools: false,
    listedTools: [],
    builtIn: {
      name: 'Cursor',
      defaultBase: 'https://api.cursor.com',
      provider: { id: 'cursor', name: 'Cursor' },
    },
  },
  claude_managed_agents: {
    target: 'address',
    needsKey: true,
    environment: ['repository', 'ref'],
    tools: 'toolsets',
    mcpServers: 'urls',
    customTools: false,
    listedTools: agentToolset,
    builtIn: {
      name: 'Claude Managed Agents',
      defaultBase: 'https://api.anthropic.com',
      provider: { id: 'anthropic', name: 'Anthropic' },
    },
  },
  opencode: {
    target: 'either',
    needsKey: false,
    environment: ['repository', 'ref', 'auto_create_pr'],
    clones: true,
    tools: 'names',
    mcpServers: 'all',
    customTools: false,
    listedTools: [],
  },
  acp: {
    target: 'program',
    needsKey: false,
    environment: ['repository', 'ref', 'auto_create_pr'],
    clones: true,
    tools: 'names',
    mcpServers: 'all',
    customTools: false,
    listedTools: [],
  },
  a2a: {
    target: 'address',
    needsKey: false,
    environment: [],
    tools: 'ignored',
    mcpServers: 'none',
    customTools: false,
    listedTools: [],
  },
}

/** Settings that the service's own runtime uses. */
export const ownSupport: SettingSupport = {
  environment: ['repository', 'ref', 'auto_create_pr'],
  clones: true,
  tools: 'names',
  mcpServers: 'all',
  customTools: true,
}

/** Reports whether the name is the id of a runtime that every server has, so that no harness can have it. */
export const isBuiltInRuntime = (id: string): boolean =>
  id === 'builtin' || Object.entries(runtimeSpecs).some(([spec, { builtIn }]) => builtIn && spec === id)
