import type { Prompt, ToolCall } from './view.ts'

const maxArgumentLength = 200

/**
 * Returns the first argument of a tool call on one line, usually the command, path or query. Cut at 200 characters; other
 * values than texts are JSON.
 */
export function firstArgument(input: unknown): string {
  if (typeof input === 'string') return oneLine(input)
  if (typeof input !== 'object' || input === null) return ''
  const first: unknown = Object.values(input)[0]
  if (first === undefined) return ''
  return oneLine(typeof first === 'string' ? first : JSON.stringify(first))
}

/** Returns the name of a tool with its MCP server, such as `github.create_issue`. */
export const toolName = ({ name, server }: Pick<ToolCall, 'name' | 'server'>): string =>
  server === undefined ? name : `${server}.${name}`

/** Returns the one-line title of a call, such as `bash · npm test`. */
export function callTitle(call: Pick<ToolCall, 'name' | 'server' | 'input'>): string {
  const argument = firstArgument(call.input)
  return argument === '' ? toolName(call) : `${toolName(call)} · ${argument}`
}

function oneLine(text: string): string {
  const line = text
    .slice(0, 4 * maxArgumentLength)
    .replace(/\s+/g, ' ')
    .trim()
  const characters = [...line]
  return characters.length > maxArgumentLength ? `${characters.slice(0, maxArgumentLength).join('')}…` : line
}

/** Returns the text of content blocks; other blocks are `[type]`. */
export const textOf = (content: readonly object[]): string => content.map(textOfBlock).join('\n')

/** Returns the text of a prompt; a request to compact is in words. */
export const promptText = ({ kind, content }: Pick<Prompt, 'kind' | 'content'>): string =>
  kind === 'compact' ? 'Compact the conversation' : textOf(content)

function textOfBlock(block: object): string {
  if ('text' in block && typeof block.text === 'string') return block.text
  return `[${'type' in block ? String(block.type) : 'unknown'}]`
}

/** Returns the number of lines of a text; a line feed at the end starts no line. */
export function lineCount(text: string): number {
  if (text === '') return 0
  let count = text.endsWith('\n') ? 0 : 1
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) count += 1
  return count
}

/** Returns the exit code in the last line of the result of `bash`: 0 for a success, undefined when none is reported. */
export function exitCode({ name, result }: Pick<ToolCall, 'name' | 'result'>): number | undefined {
  if (name !== 'bash' || !result) return undefined
  if (!result.isError) return 0
  const found = /\[exit code (\d{1,3})[^\]\n]*\]$/.exec(textOf(result.content).trimEnd())
  return found ? Number(found[1]) : undefined
}

/** Milliseconds that a call ran, without the wait for its approval; undefined while it has no end. */
export function callDurationMs({
  at,
  approval,
  endedAt,
}: Pick<ToolCall, 'at' | 'approval' | 'endedAt'>): number | undefined {
  return endedAt === undefined ? undefined : Math.max(0, Date.parse(endedAt) - Date.parse(approval?.decidedAt ?? at))
}
