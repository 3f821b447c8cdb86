import { textOf } from '../../platform/json.ts'
import { memoryTools, type ToolPolicy, toolsFor } from '../../tools/toolset.ts'

/** Our tools that correspond to a kind of tool call. Any other kind counts as every tool. */
const toolsOfKind: ReadonlyMap<string, readonly string[]> = new Map([
  ['read', ['read']],
  ['search', ['glob', 'grep']],
  ['edit', ['edit', 'write']],
  ['delete', ['edit', 'write']],
  ['move', ['edit', 'write']],
  ['execute', ['bash']],
])

/** Kinds without side effects. */
const harmless: ReadonlySet<string> = new Set(['think', 'switch_mode'])
const everyTool = [...new Set([...toolsOfKind.values()].flat())]

/** Policies of an agent's `tools` for the calls of a program, which reports only the kind of a call. */
export interface CallPolicy {
  /** True when every call is allowed. */
  readonly allowsAll: boolean
  of(kind: unknown): ToolPolicy
  /** Returns the policy of a memory tool. */
  ofOwn(name: string): ToolPolicy
}

/** Applies the strictest policy of the tools of a kind; a tool that the agent does not have is denied. */
export function callPolicy(agentTools: unknown): CallPolicy {
  const byName = new Map(toolsFor(agentTools).tools.map(({ tool, policy }) => [tool.name, policy]))
  const strictest = (names: readonly string[]): ToolPolicy => {
    const policies = names.map(name => byName.get(name) ?? 'deny')
    return policies.find(policy => policy === 'deny') ?? policies.find(policy => policy === 'ask') ?? 'allow'
  }
  // An unknown kind is not denied because one tool is missing, but a person has to decide.
  const memoriesNeedApproval = memoryTools.some(({ name }) => byName.get(name) === 'ask')
  const ofUnknown: ToolPolicy = strictest(everyTool) === 'allow' && !memoriesNeedApproval ? 'allow' : 'ask'
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
