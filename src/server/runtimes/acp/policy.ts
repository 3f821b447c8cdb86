import { textOf } from '../../platform/json.ts'
import { memoryTools, type ToolPolicy, toolsFor } from '../../tools/toolset.ts'

/** The tools of ours that stand for a kind of tool call. A kind that is not here counts as every tool. */
const toolsOfKind: ReadonlyMap<string, readonly string[]> = new Map([
  ['read', ['read']],
  ['search', ['glob', 'grep']],
  ['edit', ['edit', 'write']],
  ['delete', ['edit', 'write']],
  ['move', ['edit', 'write']],
  ['execute', ['bash']],
])

/** Kinds that touch nothing. */
const harmless: ReadonlySet<string> = new Set(['think', 'switch_mode'])
const everyTool = [...new Set([...toolsOfKind.values()].flat())]

/** What an agent's `tools` say of the calls of a program, which names only the kind of what it does. */
export interface CallPolicy {
  /** True when every call is allowed. */
  readonly allowsAll: boolean
  of(kind: unknown): ToolPolicy
  /** Of a memory tool. */
  ofOwn(name: string): ToolPolicy
}

/** The strictest of the rules for the tools that a kind stands for; a tool that the agent does not have is denied. */
export function callPolicy(agentTools: unknown): CallPolicy {
  const byName = new Map(toolsFor(agentTools).tools.map(({ tool, policy }) => [tool.name, policy]))
  const strictest = (names: readonly string[]): ToolPolicy => {
    const policies = names.map(name => byName.get(name) ?? 'deny')
    return policies.find(policy => policy === 'deny') ?? policies.find(policy => policy === 'ask') ?? 'allow'
  }
  // What cannot be named is not denied for the lack of one tool, but somebody has to look at it.
  const memoriesAsk = memoryTools.some(({ name }) => byName.get(name) === 'ask')
  const ofUnknown: ToolPolicy = strictest(everyTool) === 'allow' && !memoriesAsk ? 'allow' : 'ask'
  return {
    allowsAll: ofUnknown === 'allow',
    ofOwn: name => strictest([name]),
    of(kind) {
      if (harmless.has(textOf(kind))) return 'allow'
      const names = toolsOfKind.get(textOf(kind))
      return names ? strictest(names) : ofUnknown
    },
  }
}
