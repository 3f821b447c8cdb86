import { type Fields, recordOf } from '../../../data/json.ts'
import { type Answer, type AnswerBlock, type AnswerReader, replaced, streamError } from './answer.ts'
import { type Block, isBlock, textOf } from './form.ts'

/** Reads the events of Messages. The blocks have the order of their indices. */
export const readMessages: AnswerReader = (before, { data }) => {
  switch (data['type']) {
    case 'message_start':
      return { ...before, usage: usageOf(recordOf(recordOf(data['message'])['usage']), before) }
    case 'content_block_start':
      return { ...before, blocks: [...before.blocks, started(data['content_block'])] }
    case 'content_block_delta':
      return changed(before, Number(data['index']), recordOf(data['delta']))
    case 'message_delta': {
      const reason = recordOf(data['delta'])['stop_reason']
      return {
        ...before,
        usage: usageOf(recordOf(data['usage']), before),
        stopReason: typeof reason === 'string' ? reason : before.stopReason,
      }
    }
    case 'message_stop':
      return { ...before, isComplete: true }
    case 'error':
      return { ...before, error: streamError(data['error']) }
    default:
      return before
  }
}

function started(value: unknown): AnswerBlock {
  const block: Block = isBlock(value) ? value : { type: 'unknown' }
  if (block.type === 'text') return { kind: 'text', text: textOf(block['text']) }
  if (block.type === 'thinking') return { kind: 'thinking', text: textOf(block['thinking']) }
  if (block.type !== 'tool_use') return { kind: 'other', value: block }
  const input = Object.keys(recordOf(block['input'])).length === 0 ? '' : JSON.stringify(block['input'])
  return { kind: 'tool', id: textOf(block['id']), name: textOf(block['name']), input }
}

function changed(before: Answer, at: number, delta: Fields): Answer {
  const block = before.blocks[at]
  const next = block && withDelta(block, delta)
  return next ? { ...before, blocks: replaced(before.blocks, at, next) } : before
}

function withDelta(block: AnswerBlock, delta: Fields): AnswerBlock | undefined {
  switch (block.kind) {
    case 'text':
      if (delta['type'] === 'citations_delta')
        return { ...block, citations: [...(block.citations ?? []), delta['citation']] }
      return { ...block, text: block.text + textOf(delta['text']) }
    case 'thinking':
      if (delta['type'] === 'signature_delta') return { ...block, signature: textOf(delta['signature']) }
      return { ...block, text: block.text + textOf(delta['thinking']) }
    case 'tool':
      return { ...block, input: block.input + textOf(delta['partial_json']) }
    case 'other':
      return withInput(block.value, textOf(delta['partial_json']))
  }
}

/** Tools that the provider runs stream their input, too; it is complete when it can be parsed. */
function withInput(value: Block, piece: string): AnswerBlock | undefined {
  if (piece === '') return undefined
  const text = textOf(value['input_text']) + piece
  try {
    const { input_text: _, ...block } = value
    return { kind: 'other', value: { ...block, type: value.type, input: JSON.parse(text) } }
  } catch {
    return { kind: 'other', value: { ...value, input_text: text } }
  }
}

const tokens = (value: unknown): number | undefined => (typeof value === 'number' ? value : undefined)

function usageOf(usage: Fields, { usage: before }: Answer) {
  return {
    input: tokens(usage['input_tokens']) ?? before?.input ?? 0,
    output: tokens(usage['output_tokens']) ?? before?.output ?? 0,
    cached: tokens(usage['cache_read_input_tokens']) ?? before?.cached ?? 0,
  }
}
