import type { NewEvent } from '../../../contract/events.ts'
import { isRecord, type Json, listOf, nonEmptyText, recordOf, recordsOf, textOf } from '../../platform/json.ts'
import type { ToolPolicy } from '../../tools/toolset.ts'
import { shortened, shortInput } from '../remote/shortened.ts'

/** A tool call as far as the program has told it. */
export interface ToolCall {
  readonly id: string
  readonly fields: Json
  /** Its event in the log; undefined while it is not there. */
  readonly eventId: string | undefined
  readonly isEnded: boolean
}

/** Takes what an update says. Updates carry changed fields only. */
export function merged(known: ToolCall | undefined, update: Json): ToolCall {
  const told = Object.entries(update).filter(([, value]) => value !== undefined && value !== null)
  const base = known ?? { id: textOf(update['toolCallId']), fields: {}, eventId: undefined, isEnded: false }
  return { ...base, fields: { ...base.fields, ...Object.fromEntries(told) } }
}

/** Its name for the log. */
export const nameOf = ({ fields }: Pick<ToolCall, 'fields'>): string =>
  nonEmptyText(fields['name']) ?? nonEmptyText(claudeName(fields)) ?? nonEmptyText(fields['kind']) ?? titleOf(fields)

const titleOf = (fields: Json): string => textOf(fields['title']).slice(0, 200) || 'tool'

/** Claude's program tells the tool's name beside the protocol. */
export const claudeName = (fields: Json): unknown => recordOf(recordOf(fields['_meta'])['claudeCode'])['toolName']

/** True once its arguments are known. */
export const hasInput = ({ fields }: ToolCall): boolean => {
  const input = fields['rawInput']
  return isRecord(input) ? Object.keys(input).length > 0 : input !== undefined
}

/** True once it is more than announced. */
export const hasBegun = ({ fields }: ToolCall): boolean => !['', 'pending'].includes(textOf(fields['status']))

export const hasEnded = ({ fields }: ToolCall): boolean => ['completed', 'failed'].includes(textOf(fields['status']))

/** The event of a call. */
export function useEvent(call: ToolCall, { id, permission }: { id: string; permission: ToolPolicy }): NewEvent {
  const input = call.fields['rawInput']
  const title = textOf(call.fields['title'])
  // Gemini CLI tells no arguments; a person has to see what they allow.
  const told = permission === 'ask' && title !== '' ? shortInput({ title }) : {}
  return {
    id,
    type: 'agent.tool_use',
    tool_use_id: call.id,
    name: nameOf(call),
    input: isRecord(input) ? shortInput(input) : input === undefined ? told : shortInput({ input }),
    evaluated_permission: permission,
  }
}

/** The event of a call's end. */
export const resultEvent = (call: Pick<ToolCall, 'id'>, text: string, isError: boolean): NewEvent => ({
  type: 'agent.tool_result',
  tool_use_id: call.id,
  content: [{ type: 'text', text: shortened(text) }],
  is_error: isError,
})

/** What a call has given: its content, else its raw output. */
export function outputOf({ fields }: ToolCall): string {
  const texts = recordsOf(fields['content']).map(contentText)
  const said = texts.filter(text => text !== '').join('\n')
  return said === '' ? rawText(fields['rawOutput']) : said
}

function contentText(content: Json): string {
  if (content['type'] === 'diff') return diffText(content)
  if (content['type'] === 'terminal') return ''
  return blockText(recordOf(content['content']))
}

/** The text of a content block; what is no text is named. */
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
  const blocks = listOf(output).map(block => blockText(recordOf(block)))
  return blocks.some(text => text !== '') ? blocks.join('\n') : JSON.stringify(output)
}
