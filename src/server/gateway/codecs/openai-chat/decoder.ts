import { isRecord, type Json, jsonOr, recordOf } from '../../../platform/json.ts'
import { chatUsageOf } from '../../counting/chat-usage.ts'
import type { CodecContext, StreamDecoder, UpstreamFrame } from '../../translated/codec.ts'
import type { ModelEvent } from '../../translated/model-event.ts'
import { ChoiceReader, firstChoice, startOf } from './choice-reader.ts'
import { isProblem, problemInStream } from './problem.ts'

const nothing: readonly ModelEvent[] = []

/** Reads the stream of one answer. */
export function createDecoder(context: CodecContext): StreamDecoder {
  const reader = new ChoiceReader(context)
  let hasStarted = false
  let isOver = false

  const readChunk = (chunk: Json): readonly ModelEvent[] => {
    const events: ModelEvent[] = []
    const start = hasStarted ? undefined : startOf(chunk)
    if (start) events.push(start)
    const choice = firstChoice(chunk['choices'])
    // Groq and Moonshot have places of their own for it.
    const usage = chatUsageOf(chunk['usage'] ?? recordOf(chunk['x_groq'])['usage'] ?? choice?.['usage'])
    if (usage) events.push({ type: 'usage', usage })
    if (choice) reader.read(choice, events)
    // Once something was said it is too late for a start.
    hasStarted ||= events.length > 0
    isOver = events.at(-1)?.type === 'error'
    return events
  }

  const end = (): readonly ModelEvent[] => {
    if (isOver) return nothing
    isOver = true
    const events: ModelEvent[] = []
    reader.flush(events)
    if (reader.hasFinished) events.push({ type: 'message_stop' })
    return events
  }

  return {
    push(frame) {
      const { data } = frame
      if (isOver || data === '') return nothing
      if (data.startsWith('[DONE]')) return reader.hasFinished ? end() : nothing
      // Cut or broken is told to the client as an error of the upstream.
      const chunk = jsonOr(data, undefined)
      const fault = faultOf(frame, chunk)
      if (!fault) return readChunk(recordOf(chunk))
      isOver = true
      return [fault]
    },
    end,
  }
}

/** What makes a frame the last one, whatever else it says. */
function faultOf({ event, data }: UpstreamFrame, chunk: unknown): ModelEvent | undefined {
  if (event === 'error') return problemInStream(chunk ?? data)
  if (!isRecord(chunk)) return notJson
  return isProblem(chunk) ? problemInStream(chunk) : undefined
}

const notJson: ModelEvent = {
  type: 'error',
  code: 'upstream_unreachable',
  message: 'the upstream sent a chunk that is no JSON object',
}
