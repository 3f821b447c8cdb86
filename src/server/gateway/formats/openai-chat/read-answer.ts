import { addAll } from '../../../platform/add-all.ts'
import { isRecord, type Json, jsonOr, listOf, recordOf, recordsOf, textOf } from '../../../platform/json.ts'
import type { UpstreamEvent } from '../../core/answer-event.ts'
import type { CodecContext, StreamDecoder, UpstreamFrame } from '../../core/codec.ts'
import { chatUsageIn } from '../../tokens/stated-usage.ts'
import { citedSources } from '../shared/openai-answer.ts'
import { isProblem, problemInStream, stopOf } from './errors.ts'
import { contentPart, reasoningFieldOf, reasoningTextOf } from './reasoning.ts'
import { ToolCalls } from './tool-calls.ts'

/** Returns the events of a whole answer. */
export function answerEvents(body: unknown, context: CodecContext): readonly UpstreamEvent[] {
  if (!isRecord(body)) return [noMessage]
  if (isProblem(body)) return [problemInStream(body)]
  const choice = firstChoice(body['choices'])
  if (!choice || !isRecord(choice['message'])) return [noMessage]
  const start = startOf(body)
  const usage = chatUsageIn(body)
  const events: UpstreamEvent[] = start ? [start] : []
  if (usage) events.push({ type: 'usage', usage })
  const reader = new ChoiceReader(context)
  reader.read(withIndexes(choice), events)
  if (events.at(-1)?.type === 'error') return events
  reader.flush(events)
  events.push({ type: 'message_stop' })
  return events
}

/** Adds indexes to the calls of a whole message, which has none, and a finish reason if the answer has none. */
function withIndexes(choice: Json): Json {
  const message = recordOf(choice['message'])
  const calls = listOf(message['tool_calls']).map((call, index) => ({ ...recordOf(call), index }))
  return { ...choice, finish_reason: choice['finish_reason'] || 'stop', message: { ...message, tool_calls: calls } }
}

const noMessage: UpstreamEvent = {
  type: 'error',
  code: 'upstream_unreachable',
  message: 'upstream response contains no message',
}

const noEvents: readonly UpstreamEvent[] = []

/** Creates a decoder of one streamed answer. */
export function createDecoder(context: CodecContext): StreamDecoder {
  const reader = new ChoiceReader(context)
  let hasStarted = false
  let isOver = false

  const readChunk = (chunk: Json): readonly UpstreamEvent[] => {
    const events: UpstreamEvent[] = []
    const start = hasStarted ? undefined : startOf(chunk)
    if (start) events.push(start)
    const choice = firstChoice(chunk['choices'])
    const usage = chatUsageIn(chunk)
    if (usage) events.push({ type: 'usage', usage })
    if (choice) reader.read(choice, events)
    // message_start must precede all other events.
    hasStarted ||= events.length > 0
    isOver = events.at(-1)?.type === 'error'
    return events
  }

  const end = (): readonly UpstreamEvent[] => {
    if (isOver) return noEvents
    isOver = true
    const events: UpstreamEvent[] = []
    reader.flush(events)
    if (reader.hasFinished) events.push({ type: 'message_stop' })
    return events
  }

  return {
    push(frame) {
      const { data } = frame
      if (isOver || data === '') return noEvents
      if (data.startsWith('[DONE]')) return reader.hasFinished ? end() : noEvents
      // An invalid or truncated chunk becomes an upstream error.
      const chunk = jsonOr(data, undefined)
      const fault = faultOf(frame, chunk)
      if (!fault) return readChunk(recordOf(chunk))
      isOver = true
      return [fault]
    },
    end,
  }
}

/** Returns the error in a frame, which ends the stream; undefined for a valid chunk. */
function faultOf({ event, data }: UpstreamFrame, chunk: unknown): UpstreamEvent | undefined {
  if (event === 'error') return problemInStream(chunk ?? data)
  if (!isRecord(chunk)) return notJson
  return isProblem(chunk) ? problemInStream(chunk) : undefined
}

const notJson: UpstreamEvent = {
  type: 'error',
  code: 'upstream_unreachable',
  message: 'upstream sent a chunk that is not a JSON object',
}

type Kind = 'text' | 'thinking'

/** Converts the deltas of a choice to events. A whole message counts as one delta. */
class ChoiceReader {
  readonly #calls: ToolCalls
  readonly #sign: (state: string) => string
  /** Field of the current thinking. The next request may have to send it in the same field. */
  #reasoningField: string | undefined
  #open: { readonly kind: Kind; readonly key: string } | undefined
  #blockCount = 0
  /** All text so far, and its annotations. */
  #text = ''
  readonly #annotations: unknown[] = []
  /** Logprobs of tokens whose text has not arrived yet. */
  #logprobs: Json[] = []
  #hasRefused = false
  #hasFinished = false
  #hasImages = false

  constructor(context: CodecContext) {
    this.#calls = new ToolCalls(context)
    this.#sign = context.reasoning.sign
  }

  /** True after the upstream sent a finish reason. */
  get hasFinished(): boolean {
    return this.#hasFinished
  }

  /** Appends the events of a choice to `events`. An `error` ends the answer. */
  read(choice: Json, events: UpstreamEvent[]): void {
    addAll(this.#logprobs, recordsOf(recordOf(choice['logprobs'])['content']))
    const delta = choice['delta'] ?? choice['message']
    if (isRecord(delta)) this.#readDelta(delta, events)
    if (choice['finish_reason'] && !this.#hasFinished) this.#finish(choice, events)
  }

  /** Writes buffered calls, although they are incomplete. */
  flush(events: UpstreamEvent[]): void {
    this.#calls.finish(events)
  }

  #readDelta(delta: Json, events: UpstreamEvent[]): void {
    const { content, refusal, tool_calls: calls, function_call: call } = delta
    addAll(this.#annotations, listOf(delta['annotations']))
    const reasoning = reasoningTextOf(delta)
    if (reasoning !== '') {
      this.#write('thinking', reasoning, events)
      this.#reasoningField ??= reasoningFieldOf(delta)
    }
    if (typeof content === 'string') this.#write('text', content, events)
    else if (Array.isArray(content)) this.#writeParts(content, events)
    if (typeof refusal === 'string' && refusal !== '') {
      if (!this.#hasRefused) events.push({ type: 'declined' })
      this.#hasRefused = true
      this.#write('text', refusal, events)
    }
    this.#hasImages ||= listOf(delta['images']).length > 0
    if (Array.isArray(calls) && calls.length > 0) this.#readCalls(calls, events)
    else if (isRecord(call)) this.#readCalls([{ index: 0, function: call }], events)
  }

  #writeParts(parts: readonly unknown[], events: UpstreamEvent[]): void {
    for (const part of parts) {
      const { kind, text } = contentPart(part)
      this.#write(kind, text, events)
    }
  }

  #write(kind: Kind, text: string, events: UpstreamEvent[]): void {
    if (text === '') return
    if (this.#open?.kind !== kind) {
      this.#endBlock(events)
      this.#calls.endComplete(events)
      this.#open = { kind, key: `${kind}-${this.#blockCount++}` }
      events.push({ type: 'block_start', key: this.#open.key, block: { type: kind } })
    }
    if (kind === 'text') this.#text += text
    const { key } = this.#open
    if (kind !== 'text' || this.#logprobs.length === 0) {
      events.push({ type: 'block_delta', key, text })
      return
    }
    events.push({ type: 'block_delta', key, text, logprobs: this.#logprobs })
    this.#logprobs = []
  }

  #writeSources(events: UpstreamEvent[]): void {
    const { list, hasMore } = citedSources(this.#annotations, this.#text)
    this.#write('text', list, events)
    if (hasMore) events.push({ type: 'degraded', path: 'choices.0.message.annotations', action: 'dropped' })
  }

  #endBlock(events: UpstreamEvent[]): void {
    if (!this.#open) return
    const { kind, key } = this.#open
    if (kind === 'thinking' && this.#reasoningField !== undefined) {
      events.push({ type: 'block_signature', key, signature: this.#sign(this.#reasoningField) })
    }
    events.push({ type: 'block_stop', key })
    this.#open = undefined
    this.#reasoningField = undefined
  }

  #readCalls(calls: readonly unknown[], events: UpstreamEvent[]): void {
    this.#endBlock(events)
    this.#calls.read(calls, events)
  }

  #finish(choice: Json, events: UpstreamEvent[]): void {
    this.#hasFinished = true
    this.#writeSources(events)
    if (this.#hasImages) events.push({ type: 'degraded', path: 'choices.0.message.images', action: 'dropped' })
    this.#endBlock(events)
    this.#calls.finish(events)
    if (this.#calls.lacksName) {
      events.push({
        type: 'error',
        code: 'upstream_unreachable',
        message: 'upstream sent a tool call without a name',
      })
      return
    }
    events.push(stopOf(choice, { hasDeclined: this.#hasRefused, hasCalls: this.#calls.hasStarted }))
  }
}

/** Returns the first choice, the only one that is requested. */
function firstChoice(choices: unknown): Json | undefined {
  if (!Array.isArray(choices)) return undefined
  return choices.find((choice: unknown): choice is Json => isRecord(choice) && !choice['index'])
}

/** Returns message_start with id and model; undefined if both are missing or empty. */
function startOf(body: Json): UpstreamEvent | undefined {
  const id = textOf(body['id'])
  const model = textOf(body['model'])
  if (id === '' && model === '') return undefined
  return { type: 'message_start', ...(id !== '' && { id }), ...(model !== '' && { model }) }
}
