import { isRecord, type Json, recordOf, textOf } from '../../../platform/json.ts'
import type { CodecContext } from '../../translated/codec.ts'
import type { ModelEvent } from '../../translated/model-event.ts'
import { ConverseDecoder } from './decoder.ts'

interface Piece {
  readonly event: string
  readonly payload: Json
}

/** The events of a whole answer of Converse: it is read as the stream that it could have been. */
export function answerEvents(body: unknown, context: CodecContext): readonly ModelEvent[] {
  const message = recordOf(recordOf(body)['output'])['message']
  if (!isRecord(body) || !isRecord(message)) return [unusable]
  const blocks: readonly unknown[] = Array.isArray(message['content']) ? message['content'] : []
  const { stopReason, additionalModelResponseFields, usage } = body
  const pieces: readonly Piece[] = [
    { event: 'messageStart', payload: {} },
    ...blocks.flatMap((block, index) => piecesOf(recordOf(block), index)),
    { event: 'messageStop', payload: { stopReason, additionalModelResponseFields } },
    { event: 'metadata', payload: { usage } },
  ]
  const decoder = new ConverseDecoder(context)
  return pieces.flatMap(({ event, payload }) => decoder.take(event, payload))
}

const unusable: ModelEvent = {
  type: 'error',
  code: 'upstream_unreachable',
  message: 'the upstream sent an answer without a message',
}

function piecesOf(block: Json, contentBlockIndex: number): readonly Piece[] {
  const deltas = deltasOf(block)
  const call = block['toolUse']
  const start: readonly Piece[] = isRecord(call)
    ? [{ event: 'contentBlockStart', payload: { contentBlockIndex, start: { toolUse: call } } }]
    : []
  return [
    ...start,
    ...deltas.map(delta => ({ event: 'contentBlockDelta', payload: { contentBlockIndex, delta } })),
    { event: 'contentBlockStop', payload: { contentBlockIndex } },
  ]
}

function deltasOf(block: Json): readonly Json[] {
  const { toolUse, reasoningContent, citationsContent } = block
  if (isRecord(toolUse)) return [{ toolUse: { input: JSON.stringify(toolUse['input'] ?? {}) } }]
  if (isRecord(reasoningContent)) return reasoningDeltas(reasoningContent)
  if (isRecord(citationsContent)) return [{ text: citedText(citationsContent) }, { citation: {} }]
  return [block]
}

function reasoningDeltas({ reasoningText, redactedContent }: Json): readonly Json[] {
  if (!isRecord(reasoningText)) return [{ reasoningContent: { redactedContent } }]
  const { text, signature } = reasoningText
  return [{ reasoningContent: { text } }, { reasoningContent: { signature } }]
}

const citedText = ({ content }: Json): string =>
  (Array.isArray(content) ? content : []).map(part => textOf(recordOf(part)['text'])).join('')
