import { isRecord, type Json, recordsOf, textOf } from '../../../platform/json.ts'
import type { UpstreamEvent } from '../../core/answer-event.ts'
import type { CodecContext, StreamDecoder, UpstreamFrame } from '../../core/codec.ts'
import { AnswerReader } from './read-items.ts'

/** Returns the events of a whole response. */
export function answerEvents(body: unknown, context: CodecContext): readonly UpstreamEvent[] {
  const reader = new AnswerReader(context)
  if (!isRecord(body)) reader.fail({ message: 'upstream response is not a JSON object' })
  else if (isRecord(body['error']) || body['status'] === 'failed') reader.fail(body)
  else if (!Array.isArray(body['output'])) reader.fail({ message: 'upstream response contains no output' })
  else if (isEnded(body['status'])) reader.finish(body)
  else reader.fail({ message: 'upstream response is incomplete', usage: body['usage'] })
  return reader.take()
}

const isEnded = (status: unknown): boolean =>
  status === undefined || status === null || status === 'completed' || status === 'incomplete'

/** Creates a decoder of one streamed response. Redundant and unknown events are ignored. */
export function createResponsesDecoder(context: CodecContext): StreamDecoder {
  const reader = new AnswerReader(context)
  return {
    push(frame) {
      if (reader.isOver || frame.data === '' || frame.data === '[DONE]') return noEvents
      const body = parse(frame)
      if (!body) {
        reader.fail({ message: 'upstream sent an event that is not a JSON object' })
        return reader.take()
      }
      const read = readers.get(typeOf(body, frame))
      if (!read) return noEvents
      read(reader, body)
      return reader.take()
    },
    // A protocol event marks the end, so the end of the connection adds no events.
    end: () => noEvents,
  }
}

const noEvents: readonly UpstreamEvent[] = []

function parse({ data }: UpstreamFrame): Json | undefined {
  try {
    const body: unknown = JSON.parse(data)
    return isRecord(body) ? body : undefined
  } catch {
    // A truncated or invalid event becomes an upstream error.
    return undefined
  }
}

function typeOf(body: Json, { event }: UpstreamFrame): string {
  const { type } = body
  if (typeof type === 'string') return type
  return event ?? (body['error'] ? 'error' : '')
}

type Read = (reader: AnswerReader, body: Json) => void

const indexOf = ({ output_index: index }: Json): number => (typeof index === 'number' ? index : 0)
const contentIndexOf = ({ content_index: index }: Json): number => (typeof index === 'number' ? index : 0)
const recordOf = (value: unknown): Json => (isRecord(value) ? value : {})

const onHead: Read = (reader, body) => reader.start(recordOf(body['response']))
const onText: Read = (reader, body) =>
  reader.appendText(indexOf(body), contentIndexOf(body), textOf(body['delta']), recordsOf(body['logprobs']))

const readers: ReadonlyMap<string, Read> = new Map<string, Read>([
  ['response.output_text.delta', onText],
  [
    'response.function_call_arguments.delta',
    (reader, body) => reader.appendArguments(indexOf(body), textOf(body['delta'])),
  ],
  [
    'response.reasoning_summary_text.delta',
    (reader, body) => reader.appendThinking(indexOf(body), `summary ${body['summary_index']}`, textOf(body['delta'])),
  ],
  [
    'response.reasoning_text.delta',
    (reader, body) => reader.appendThinking(indexOf(body), `text ${body['content_index']}`, textOf(body['delta'])),
  ],
  [
    'response.refusal.delta',
    (reader, body) => {
      reader.decline()
      onText(reader, body)
    },
  ],
  ['response.created', onHead],
  ['response.queued', onHead],
  ['response.in_progress', onHead],
  ['response.output_item.added', (reader, body) => reader.add(indexOf(body), recordOf(body['item']))],
  [
    'response.output_text.done',
    (reader, body) => reader.completeText(indexOf(body), contentIndexOf(body), textOf(body['text'])),
  ],
  [
    'response.function_call_arguments.done',
    (reader, body) => reader.completeArguments(indexOf(body), textOf(body['arguments'])),
  ],
  [
    'response.content_part.done',
    (reader, body) => reader.finishPart(indexOf(body), contentIndexOf(body), recordOf(body['part'])),
  ],
  ['response.output_item.done', (reader, body) => reader.finishItem(indexOf(body), recordOf(body['item']))],
  ['response.completed', (reader, body) => reader.finish(recordOf(body['response']))],
  ['response.incomplete', (reader, body) => reader.finish({ ...recordOf(body['response']), status: 'incomplete' })],
  ['response.failed', (reader, body) => reader.fail(body)],
  ['error', (reader, body) => reader.fail(body)],
])
