import type { McpTool } from '../../../contract/mcp.ts'
import { searchInput, searchName } from '../../tools/tool-search.ts'

/** Name of the tool that calls a found one, since clients do not expect that a list changes. */
export const callName = 'call_tool'

/** The tools that `/mcp` lists instead of many. */
export const searchTools: readonly McpTool[] = [
  {
    name: searchName,
    description:
      'Finds tools by words, such as "create issue". Returns their names, descriptions and input schemas, best first. Call one with call_tool.',
    inputSchema: searchInput,
  },
  {
    name: callName,
    description: 'Calls a tool that search_tools has returned.',
    inputSchema: {
      type: 'object',
      properties: {
        name: { type: 'string', description: 'Name of the tool' },
        arguments: { type: 'object', description: 'Arguments that match the input schema of the tool' },
      },
      required: ['name'],
    },
  },
]
