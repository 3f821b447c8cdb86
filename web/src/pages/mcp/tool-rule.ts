import type { McpServer, McpServerUpdate } from '../../../../src/contract/mcp.ts'

type Lists = Pick<McpServer, 'allowed_tools' | 'disallowed_tools'>

/** True if the lists of the server let any key use the tool. */
export const isAllowed = ({ allowed_tools, disallowed_tools }: Lists, tool: string): boolean =>
  (allowed_tools === null || allowed_tools.includes(tool)) && disallowed_tools?.includes(tool) !== true

/**
 * Returns the change that allows or denies one tool. A server without a list of allowed tools keeps allowing all others, also those
 * that it adds later.
 */
export function withTool({ allowed_tools, disallowed_tools }: Lists, tool: string, isOn: boolean): McpServerUpdate {
  const others = (disallowed_tools ?? []).filter(name => name !== tool)
  if (isOn) {
    return {
      disallowed_tools: others.length > 0 ? others : null,
      ...(allowed_tools && { allowed_tools: [...new Set([...allowed_tools, tool])] }),
    }
  }
  return allowed_tools
    ? { allowed_tools: allowed_tools.filter(name => name !== tool) }
    : { disallowed_tools: [...others, tool] }
}
