import { isRecord, jsonOr, listOf, nonEmptyText, recordOf } from '../platform/json.ts'
import { failureResult } from './tool.ts'
import { foundTools, minToolsForSearch, searchInput, searchName, searchRequestOf } from './tool-search.ts'
import type { CallableTool, ListedTools, RunTool, RunTools } from './tool-source.ts'

/** Found tools that requests to the model contain, so that their number stays below the limits of providers. */
export const maxFound = 64
/** Characters of a description in the result of a search; the whole one follows with the tool. */
const maxDescription = 300

/**
 * Returns the tools of a run with a search for the tools of its MCP servers, if there are many of these: the model then
 * sees only those that it has found or called. All of them can be called.
 */
export function withToolSearch(tools: ListedTools): ListedTools {
  const usable = [...tools.byName.values()].filter(({ mcp, policy }) => mcp && policy !== 'deny')
  // Agents that were stored before the name was reserved may have a custom tool of that name.
  if (usable.length < minToolsForSearch || tools.byName.has(searchName)) return tools
  const entries = [...tools.byName].map(
    ([name, tool]) => [name, tool.mcp ? { ...tool, isHidden: true } : tool] as const,
  )
  return { ...tools, byName: new Map<string, RunTool>([...entries, [searchName, searchOf(usable)]]) }
}

function searchOf(tools: readonly RunTool[]): CallableTool {
  const counts = new Map<string, number>()
  for (const { mcp } of tools) counts.set(mcp?.server ?? '', (counts.get(mcp?.server ?? '') ?? 0) + 1)
  const servers = [...counts].map(([server, count]) => `${server} (${count})`).join(', ')
  return {
    name: searchName,
    description: `Finds tools of MCP servers by words, such as "create issue". Tools that it returns can be called from your next step on. Servers and their numbers of tools: ${servers}.`,
    inputSchema: searchInput,
    policy: 'allow',
    reads: true,
    idempotent: true,
    async call(input, { signal }) {
      const wanted = searchRequestOf(input)
      if (typeof wanted === 'string') return failureResult(wanted)
      const found = (await foundTools(tools, wanted, signal)).map(({ name, description }) => ({
        name,
        description: description.slice(0, maxDescription).toWellFormed(),
      }))
      const text = JSON.stringify(
        found.length > 0 ? { tools: found } : { tools: [], note: 'no tool matches; try other words' },
      )
      return { content: [{ type: 'text', text }], is_error: false }
    },
  }
}

/** Returns the names of the tools in the content of a result of the search. */
export function namesInResult(content: unknown): readonly string[] {
  return listOf(content).flatMap(block => {
    const result = jsonOr(nonEmptyText(recordOf(block)['text']) ?? '', undefined)
    if (!isRecord(result)) return []
    return listOf(result['tools']).flatMap(tool => nonEmptyText(recordOf(tool)['name']) ?? [])
  })
}

/** Returns the tools that a request to the model contains. `found` are the names of found tools in their order. */
export function shownTools({ byName }: RunTools, found: readonly string[]): readonly RunTool[] {
  const always = [...byName.values()].filter(({ isHidden }) => !isHidden)
  // Last, so that the list only grows: what comes before stays the same for the prompt cache.
  const later = found.flatMap(name => {
    const tool = byName.get(name)
    return tool?.isHidden ? [tool] : []
  })
  return [...always, ...later].filter(({ policy }) => policy !== 'deny')
}
