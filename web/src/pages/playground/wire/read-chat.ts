import { type Fields, recordOf } from '../../../data/json.ts'
import { type Answer, type AnswerBlock, type AnswerReader, appended, replaced, streamError } from './answer.ts'
import { listOf, textOf } from './form.ts'

/** Reads the chunks of Chat Completions. */
export const readChat: AnswerReader = (before, { data, isEnd }) => {
  if (isEnd) return { ...before, isComplete: true }
  if (data['error'] !== undefined) return { ...before, error: streamError(data['error']) }
  const [choice] = listOf(data['choices'])
  const { delta, finish_reason: reason } = recordOf(choice)
  return {
    ...before,
    blocks: withDelta(before.blocks, recordOf(delta)),
    stopReason: typeof reason === 'string' ? reason : before.stopReason,
    usage: usageOf(data['usage']) ?? before.usage,
  }
}

function withDelta(before: readonly AnswerBlock[], delta: Fields): readonly AnswerBlock[] {
  const reasoning = textOf(delta['reasoning_content']) || textOf(delta['reasoning'])
  const text = textOf(delta['content']) + textOf(delta['refusal'])
  const calls = listOf(delta['tool_calls']).map(recordOf)
  return calls.reduce(withCall, appended(appended(before, 'thinking', reasoning), 'text', text))
}

/** Calls are numbered apart from other content. */
function withCall(blocks: readonly AnswerBlock[], call: Fields): readonly AnswerBlock[] {
  const places = blocks.flatMap(({ kind }, at) => (kind === 'tool' ? [at] : []))
  const at = typeof call['index'] === 'number' ? places[call['index']] : undefined
  const { name, arguments: piece } = recordOf(call['function'])
  const known = at === undefined ? undefined : blocks[at]
  if (at === undefined || known?.kind !== 'tool')
    return [...blocks, { kind: 'tool', id: textOf(call['id']), name: textOf(name), input: textOf(piece) }]
  return replaced(blocks, at, { ...known, name: known.name || textOf(name), input: known.input + textOf(piece) })
}

function usageOf(value: unknown): Answer['usage'] {
  const { prompt_tokens: input, completion_tokens: output, prompt_tokens_details: details } = recordOf(value)
  if (typeof input !== 'number' || typeof output !== 'number') return undefined
  const cached = recordOf(details)['cached_tokens']
  const hits = typeof cached === 'number' ? cached : 0
  // OpenAI counts cached tokens as a part of the input; the ledger and Messages do not.
  return { input: input - hits, output, cached: hits }
}
