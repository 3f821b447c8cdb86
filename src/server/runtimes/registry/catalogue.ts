import { builtInRuntimeIds, type RuntimeTool } from '../../../contract/runtimes.ts'
import { runtimeBases } from '../../config/harnesses-of-file.ts'
import { builtinTools, memoryTools } from '../../tools/toolset.ts'
import type { ApiSpec } from '../runtime.ts'

/** Properties of a protocol that need no request. */
interface SpecFacts {
  /** True when its servers require a key. */
  readonly needsKey: boolean
  /** Tools that an agent's `tools` can select; empty where the runtime decides by itself. */
  readonly tools: readonly RuntimeTool[]
}

const tool = (id: string, description: string): RuntimeTool => ({
  id,
  name: id,
  description,
  enabled_by_default: true,
})

/** The tools of `agent_toolset_20260401`. Source: Dialects, section 1.3. */
const agentToolset = [
  tool('bash', 'Run shell commands'),
  tool('read', 'Read files'),
  tool('write', 'Write files'),
  tool('edit', 'Replace text in files'),
  tool('glob', 'Find files by name'),
  tool('grep', 'Search file contents'),
  tool('web_fetch', 'Read web pages'),
  tool('web_search', 'Search the web'),
]

/** By protocol. */
export const factsOfSpec: Readonly<Record<ApiSpec, SpecFacts>> = {
  cursor: { needsKey: true, tools: [] },
  claude_managed_agents: { needsKey: true, tools: agentToolset },
  opencode: { needsKey: false, tools: [] },
  acp: { needsKey: false, tools: [] },
}

/** An external runtime that is part of every server. */
export interface BuiltInRuntime {
  readonly id: string
  readonly spec: ApiSpec
  readonly name: string
  readonly defaultBase: string
  /** Provider that issues its credential. */
  readonly provider: { readonly id: string; readonly name: string }
}

const cursor: BuiltInRuntime = {
  id: 'cursor',
  spec: 'cursor',
  name: 'Cursor',
  defaultBase: runtimeBases.cursor,
  provider: { id: 'cursor', name: 'Cursor' },
}

const managedAgents: BuiltInRuntime = {
  id: 'claude_managed_agents',
  spec: 'claude_managed_agents',
  name: 'Claude Managed Agents',
  defaultBase: runtimeBases.claude_managed_agents,
  provider: { id: 'anthropic', name: 'Anthropic' },
}

/** Built-in external runtimes by id, in list order. Gaps: section 10. */
export const builtInRuntimes: ReadonlyMap<string, BuiltInRuntime> = new Map(
  [cursor, managedAgents].map(runtime => [runtime.id, runtime]),
)

/** The service's own runtime. It has no address and calls models with the credentials of their providers. */
export const ownRuntime = {
  name: 'Built-in',
  provider: { id: 'switchyard', name: 'Switchyard' },
  tools: [...builtinTools, ...memoryTools].map(({ name, description }) => tool(name, description)),
} as const

/** Reports whether the name is reserved for a built-in runtime. */
export const isBuiltIn = (id: string): boolean => (builtInRuntimeIds as readonly string[]).includes(id)
