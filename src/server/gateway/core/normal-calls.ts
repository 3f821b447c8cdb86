import { type Json, listOf, recordOf, recordsOf } from '../../platform/json.ts'
import { toolInputIn } from '../bytes/exact-numbers.ts'
import type { CanonicalRequest } from './codec.ts'
import { type StepOptions, withBlocks } from './normal-history.ts'

/** Parses inputs of tool calls that are JSON in a string: some clients store the text of the stream. */
export function withObjectInputs(request: CanonicalRequest, { survey, note }: StepOptions): CanonicalRequest {
  if (!survey.hasTextInput) return request
  return withBlocks(request, (block, path) => {
    const { type, input: text } = block
    const input = type === 'tool_use' && typeof text === 'string' ? toolInputIn(text || '{}') : undefined
    if (!input) return block
    note(`${path}.input`, 'parsed')
    return { ...block, input }
  })
}

/**
 * Adds a result to each tool call without one before a later turn of the user, as after an interruption: all providers
 * reject a call without a result. Calls at the end of the conversation are left alone.
 */
export function withAnsweredCalls(request: CanonicalRequest, { survey, note }: StepOptions): CanonicalRequest {
  if (!survey.hasUnanswered) return request
  const messages = listOf(request['messages'])
  const lastUser = messages.findLastIndex(message => recordOf(message)['role'] === 'user')
  const blocks = messages.flatMap(message => recordsOf(recordOf(message)['content']))
  const answered = new Set(blocks.map(block => block['tool_use_id']))
  let missing: string[] = []
  const complete = messages.map((message, at) => {
    const { role, content } = recordOf(message)
    for (const [index, block] of listOf(content).entries()) {
      const { type, id } = recordOf(block)
      if (type !== 'tool_use' || typeof id !== 'string' || answered.has(id) || at > lastUser) continue
      missing.push(id)
      note(`messages.${at}.content.${index}`, 'result_added')
    }
    if (role !== 'user' || missing.length === 0) return message
    const results = missing.map(noResult)
    missing = []
    return { ...recordOf(message), content: [...results, ...blocksIn(content)] }
  })
  return { ...request, messages: complete }
}

const noResult = (id: string): Json => ({
  type: 'tool_result',
  tool_use_id: id,
  content: 'The call was interrupted and has no result.',
  is_error: true,
})

/** Returns the blocks of a content, without a string that is empty. */
const blocksIn = (content: unknown): readonly unknown[] =>
  typeof content === 'string' ? (content === '' ? [] : [{ type: 'text', text: content }]) : listOf(content)
