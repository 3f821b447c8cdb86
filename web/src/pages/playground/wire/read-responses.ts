import { type Fields, isRecord, recordOf } from '../../../data/json.ts'
import { type Answer, type AnswerBlock, type AnswerReader, appended, replaced, streamError } from './answer.ts'
import { isBlock, textOf } from './form.ts'

const shownElsewhere: readonly unknown[] = ['message', 'reasoning', 'function_call']

/** Reads the events of Responses. Its items arrive one after the other. */
export const readResponses: AnswerReader = (before, { data }) => {
  const piece = textOf(data['delta'])
  switch (data['type']) {
    case 'response.output_text.delta':
    case 'response.refusal.delta':
      return { ...before, blocks: appended(before.blocks, 'text', piece) }
    case 'response.reasoning_summary_text.delta':
    case 'response.reasoning_text.delta':
      return { ...before, blocks: appended(before.blocks, 'thinking', piece) }
    case 'response.reasoning_summary_part.added':
      return data['summary_index'] === 0 ? before : { ...before, blocks: appended(before.blocks, 'thinking', '\n\n') }
    case 'response.output_item.added':
      return { ...before, blocks: withItem(before.blocks, recordOf(data['item'])) }
    case 'response.function_call_arguments.delta':
      return { ...before, blocks: withArguments(before.blocks, piece) }
    case 'response.output_item.done':
      return { ...before, blocks: withOther(before.blocks, data['item']) }
    case 'error':
      return { ...before, error: streamError(data['error'] ?? data) }
    default:
      return ended(before, data)
  }
}

function ended(before: Answer, data: Fields): Answer {
  const response = recordOf(data['response'])
  const usage = usageOf(response['usage']) ?? before.usage
  switch (data['type']) {
    case 'response.completed':
      return { ...before, usage, stopReason: 'completed', isComplete: true }
    case 'response.incomplete': {
      const reason = textOf(recordOf(response['incomplete_details'])['reason']) || 'incomplete'
      return { ...before, usage, stopReason: reason, isComplete: true }
    }
    case 'response.failed':
      return { ...before, usage, error: streamError(response['error']) }
    default:
      return before
  }
}

function withItem(blocks: readonly AnswerBlock[], item: Fields): readonly AnswerBlock[] {
  if (item['type'] !== 'function_call') return blocks
  const { call_id: id, name, arguments: input } = item
  return [...blocks, { kind: 'tool', id: textOf(id), name: textOf(name), input: textOf(input) }]
}

function withArguments(blocks: readonly AnswerBlock[], piece: string): readonly AnswerBlock[] {
  const last = blocks.at(-1)
  return last?.kind === 'tool' ? replaced(blocks, blocks.length - 1, { ...last, input: last.input + piece }) : blocks
}

/** Calls of tools that the provider runs are shown as they are. */
const withOther = (blocks: readonly AnswerBlock[], item: unknown): readonly AnswerBlock[] =>
  isBlock(item) && !shownElsewhere.includes(item.type) ? [...blocks, { kind: 'other', value: item }] : blocks

function usageOf(value: unknown): Answer['usage'] {
  if (!isRecord(value)) return undefined
  const { input_tokens: input, output_tokens: output, input_tokens_details: details } = value
  const cached = recordOf(details)['cached_tokens']
  const hits = typeof cached === 'number' ? cached : 0
  return { input: Number(input) - hits, output: Number(output), cached: hits }
}
