import { isRecord, type Json, recordsOf, textOf } from '../../../platform/json.ts'
import type { UpstreamEvent } from '../../core/answer-event.ts'
import type { CodecContext, StreamDecoder, UpstreamFrame } from '../../core/codec.ts'
import { AnswerReader } from './read-items.ts'

/** The events of a response that came whole. */
export function answerEvents(body: unknown, context: CodecContext): readonly UpstreamEvent[] {
  const reader = new AnswerReader(context)
  if (!isRecord(body)) reader.fail({ message: 'the upstream sent an answer that cannot be read' })
  else if (isRecord(body['error']) || body['status'] === 'failed') reader.fail(body)
  else if (!Array.isArray(body['output'])) reader.fail({ message: 'the upstream sent an answer without output' })
  else if (isEnded(body['status'])) reader.finish(body)
  else reader.fail({ message: 'the upstream sent an answer that is not complete', usage: body['usage'] })
  return reader.take()
}

const isEnded = (status: unknown): boolean =>
  status === undefined || status === null || status === 'completed' || status === 'incomplete'

/** Reads the event stream of one response. Events that say nothing new, and unknown ones, are passed over. */
export function createResponsesDecoder(context: CodecContext): StreamDecoder {
  const reader = new AnswerReader(context)
  return {
    push(frame) {
      if (reader.isOver || frame.data === '' || frame.data === '[DONE]') return nothing
      const body = parse(frame)
      if (!body) {
        reader.fail({ message: 'the upstream sent an event that cannot be read' })
        return reader.take()
      }
      const read = readers.get(typeOf(body, frame))
      if (!read) return nothing
      read(reader, body)
      return reader.take()
    },
    // The end is told by an event of the protocol, which was handled when it came.
    end: () => nothing,
  }
}

const nothing: readonly UpstreamEvent[] = []

function parse({ data }: UpstreamFrame): Json | undefined {
  try {
    const body: unknown = JSON.parse(data)
    return isRecord(body) ? body : undefined
  } catch {
    // A cut or broken event: told to the client as a failure of the upstream.
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
  reader.text(indexOf(body), contentIndexOf(body), textOf(body['delta']), recordsOf(body['logprobs']))

const readers: ReadonlyMap<string, Read> = new Map<string, Read>([
  ['response.output_text.delta', onText],
  ['response.function_call_arguments.delta', (reader, body) => reader.argue(indexOf(body), textOf(body['delta']))],
  [
    'response.reasoning_summary_text.delta',
    (reader, body) => reader.think(indexOf(body), `summary ${body['summary_index']}`, textOf(body['delta'])),
  ],
  [
    'response.reasoning_text.delta',
    (reader, body) => reader.think(indexOf(body), `text ${body['content_index']}`, textOf(body['delta'])),
  ],
  [
    'response.refusal.delta',
    (reader, body) => {
      reader.refuse()
      onText(reader, body)
    },
  ],
  ['response.created', onHead],
  ['response.queued', onHead],
  ['response.in_progress', onHead],
  ['response.output_item.added', (reader, body) => reader.add(indexOf(body), recordOf(body['item']))],
  [
    'response.output_text.done',
    (reader, body) => reader.wholeText(indexOf(body), contentIndexOf(body), textOf(body['text'])),
  ],
  [
    'response.function_call_arguments.done',
    (reader, body) => reader.wholeArguments(indexOf(body), textOf(body['arguments'])),
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
