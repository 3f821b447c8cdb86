import type { NewEvent } from '../../../contract/events.ts'
import { isRecord, type Json, listOf, nonEmptyText, recordOf, recordsOf, textOf } from '../../platform/json.ts'
import type { McpPlace } from '../../tools/tool-source.ts'
import type { ToolPolicy } from '../../tools/toolset.ts'
import { shortened, shortInput } from '../remote/shortened.ts'

/** A tool call with the fields that the program has sent so far. */
export interface ToolCall {
  readonly id: string
  readonly fields: Json
  /** Id of its event; undefined before it is emitted. */
  readonly eventId: string | undefined
  readonly isEnded: boolean
  /** Tool of an MCP server that it calls; known once the call is emitted. */
  readonly mcp?: McpToolCall | undefined
}

/** The tool of an MCP server that a call is for, and its arguments where they are a part of the call's input. */
export interface McpToolCall extends McpPlace {
  readonly input?: unknown
}

/** Merges an update, which has changed fields only, into a call. */
export function merged(known: ToolCall | undefined, update: Json): ToolCall {
  const changed = Object.entries(update).filter(([, value]) => value !== undefined && value !== null)
  const base = known ?? { id: textOf(update['toolCallId']), fields: {}, eventId: undefined, isEnded: false }
  return { ...base, fields: { ...base.fields, ...Object.fromEntries(changed) } }
}

/** Returns the name of a call for the log. */
export const nameOf = ({ fields }: Pick<ToolCall, 'fields'>): string =>
  nonEmptyText(fields['name']) ?? nonEmptyText(claudeName(fields)) ?? nonEmptyText(fields['kind']) ?? titleOf(fields)

const titleOf = (fields: Json): string => textOf(fields['title']).slice(0, 200) || 'tool'

/** Returns the tool's name, which claude-agent-acp sends in `_meta`. */
export const claudeName = (fields: Json): unknown => recordOf(recordOf(fields['_meta'])['claudeCode'])['toolName']

/** True once its arguments are known. */
export const hasInput = ({ fields }: ToolCall): boolean => {
  const input = fields['rawInput']
  return isRecord(input) ? Object.keys(input).length > 0 : input !== undefined
}

/** True once it runs or has ended. */
export const hasBegun = ({ fields }: ToolCall): boolean => !['', 'pending'].includes(textOf(fields['status']))

export const hasEnded = ({ fields }: ToolCall): boolean => ['completed', 'failed'].includes(textOf(fields['status']))

/** Returns the event of a call. */
export function useEvent(call: ToolCall, { id, permission }: { id: string; permission: ToolPolicy }): NewEvent {
  const { mcp } = call
  const input = mcp?.input ?? call.fields['rawInput']
  const title = textOf(call.fields['title'])
  // Gemini CLI sends no arguments; a person has to see what they allow.
  const shown = permission === 'ask' && title !== '' ? shortInput({ title }) : {}
  return {
    id,
    ...(mcp
      ? { type: 'agent.mcp_tool_use', name: mcp.tool, mcp_server_name: mcp.server }
      : { type: 'agent.tool_use', name: nameOf(call) }),
    tool_use_id: call.id,
    input: isRecord(input) ? shortInput(input) : input === undefined ? shown : shortInput({ input }),
    evaluated_permission: permission,
  }
}

/** Returns the event of a call's result. */
export function resultEvent({ id, isMcp }: EndedCall, text: string, isError: boolean): NewEvent {
  const result = { content: [{ type: 'text', text: shortened(text) }], is_error: isError }
  return isMcp
    ? { type: 'agent.mcp_tool_result', mcp_tool_use_id: id, ...result }
    : { type: 'agent.tool_result', tool_use_id: id, ...result }
}

interface EndedCall extends Pick<ToolCall, 'id'> {
  /** True for a call of an MCP server. */
  readonly isMcp?: boolean
}

/** Returns the output of a call: its content, otherwise its raw output. */
export function outputOf({ fields }: ToolCall): string {
  const texts = recordsOf(fields['content']).map(contentText)
  const content = texts.filter(text => text !== '').join('\n')
  return content === '' ? rawText(fields['rawOutput']) : content
}

function contentText(content: Json): string {
  if (content['type'] === 'diff') return diffText(content)
  if (content['type'] === 'terminal') return ''
  return blockText(recordOf(content['content']))
}

/** Returns the text of a content block; other types become their name in brackets. */
export function blockText(block: Json): string {
  if (block['type'] === 'text') return textOf(block['text'])
  if (block['type'] === 'resource_link') return textOf(block['uri'])
  if (block['type'] === 'resource') return textOf(recordOf(block['resource'])['text'])
  return block['type'] === undefined ? '' : `[${textOf(block['type'])}]`
}

function diffText(diff: Json): string {
  const { path, oldText, newText } = diff
  const lines = (mark: string, text: unknown) =>
    textOf(text) === ''
      ? []
      : textOf(text)
          .split('\n')
          .map(line => `${mark}${line}`)
  return [textOf(path), ...lines('-', oldText), ...lines('+', newText)].join('\n')
}

function rawText(output: unknown): string {
  if (typeof output === 'string') return output
  if (output === undefined || output === null) return ''
  // Codex reports the whole result of an MCP tool.
  const content = recordOf(recordOf(output)['result'])['content']
  const blocks = listOf(content ?? output).map(block => blockText(recordOf(block)))
  return blocks.some(text => text !== '') ? blocks.join('\n') : JSON.stringify(output)
}
