import type { McpTool } from '../../../../src/contract/mcp.ts'

/** A tool that differs between the accepted list and the list that waits. */
export interface ToolChange {
  readonly name: string
  readonly kind: 'new' | 'changed' | 'removed'
  /** Description and schema as text; empty when the tool is not in that list. */
  readonly before: string
  readonly after: string
}

/** Compares two tool lists by name. The order of tools and of the members of objects does not matter. */
export function changesBetween(accepted: readonly McpTool[], pending: readonly McpTool[]): readonly ToolChange[] {
  const before = byName(accepted)
  const after = byName(pending)
  return [...new Set([...after.keys(), ...before.keys()])].flatMap(name => {
    const [old = '', now = ''] = [before.get(name), after.get(name)]
    if (old === now) return []
    const kind = old === '' ? 'new' : now === '' ? 'removed' : 'changed'
    return [{ name, kind, before: old, after: now } satisfies ToolChange]
  })
}

const byName = (tools: readonly McpTool[]): ReadonlyMap<string, string> =>
  new Map(tools.map(tool => [tool.name, textOf(tool)]))

/** Shows the description in lines of its own, so that a diff marks changed sentences. */
function textOf({ name: _name, description = '', ...rest }: McpTool): string {
  const sentences = description.replaceAll(/(?<=[.!?])\s+/g, '\n')
  return `${sentences}\n\n${JSON.stringify(sorted(rest), null, 2)}`
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, member]) => [name, sorted(member)]),
  )
}
