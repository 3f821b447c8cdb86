import { createHash } from 'node:crypto'
import type { McpTool } from '../../../contract/mcp.ts'
import { isRecord } from '../../platform/json.ts'

/** Returns the SHA-256 of a tool list; the order of tools and of the members of objects does not matter. */
export const hashOfTools = (tools: readonly McpTool[]): string => sha256(tools.map(hashOfTool).toSorted().join('\n'))

/** Returns the SHA-256 of a tool with all its fields. */
export const hashOfTool = (tool: McpTool): string => sha256(JSON.stringify(sorted(tool)))

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (!isRecord(value)) return value
  return Object.fromEntries(
    Object.keys(value)
      .toSorted()
      .map(key => [key, sorted(value[key])]),
  )
}
