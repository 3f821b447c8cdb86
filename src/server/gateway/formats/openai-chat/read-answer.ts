import { isRecord, type Json, jsonOr, listOf, recordOf, recordsOf, textOf } from '../../../platform/json.ts'
import type { UpstreamEvent } from '../../core/answer-event.ts'
import type { CodecContext, StreamDecoder, UpstreamFrame } from '../../core/codec.ts'
import { chatUsageOf } from '../../tokens/stated-usage.ts'
import { citedSources } from '../shared/openai-answer.ts'
import { isProblem, problemInStream, stopOf } from './errors.ts'
import { contentPart, reasoningFieldOf, reasoningTextOf } from './reasoning.ts'
import { ToolCalls } from './tool-calls.ts'

/** The events of a whole answer. */
export function answerEvents(body: unknown, context: CodecContext): readonly UpstreamEvent[] {
  if (!isRecord(body)) return [useless]
  if (isProblem(body)) return [problemInStream(body)]
  const choice = firstChoice(body['choices'])
  if (!choice || !isRecord(choice['message'])) return [useless]
  const start = startOf(body)
  const usage = chatUsageOf(body['usage'])
  const events: UpstreamEvent[] = start ? [start] : []
  if (usage) events.push({ type: 'usage', usage })
  const reader = new ChoiceReader(context)
  reader.read(numbered(choice), events)
  if (events.at(-1)?.type === 'error') return events
  reader.flush(events)
  events.push({ type: 'message_stop' })
  return events
}

/** Calls of a whole message have no index: each of them stands for itself. A whole answer has ended, said or not. */
function numbered(choice: Json): Json {
  const message = recordOf(choice['message'])
  const calls = listOf(message['tool_calls']).map((call, index) => ({ ...recordOf(call), index }))
  return { ...choice, finish_reason: choice['finish_reason'] || 'stop', message: { ...message, tool_calls: calls } }
}

const useless: UpstreamEvent = {
  type: 'error',
  code: 'upstream_unreachable',
  message: 'the upstream sent an answer without a message',
}

const nothing: readonly UpstreamEvent[] = []

/** Reads the stream of one answer. */
export function createDecoder(context: CodecContext): StreamDecoder {
  const reader = new ChoiceReader(context)
  let hasStarted = false
  let isOver = false

  const readChunk = (chunk: Json): readonly UpstreamEvent[] => {
    const events: UpstreamEvent[] = []
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

  const end = (): readonly UpstreamEvent[] => {
    if (isOver) return nothing
    isOver = true
    const events: UpstreamEvent[] = []
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
function faultOf({ event, data }: UpstreamFrame, chunk: unknown): UpstreamEvent | undefined {
  if (event === 'error') return problemInStream(chunk ?? data)
  if (!isRecord(chunk)) return notJson
  return isProblem(chunk) ? problemInStream(chunk) : undefined
}

const notJson: UpstreamEvent = {
  type: 'error',
  code: 'upstream_unreachable',
  message: 'the upstream sent a chunk that is no JSON object',
}

type Kind = 'text' | 'thinking'

/** Turns what a choice says, delta by delta, into events. A whole message is one delta. */
class ChoiceReader {
  readonly #calls: ToolCalls
  readonly #seal: (state: string) => string
  /** Where the thinking at hand came from: the next turn may have to say it there again. */
  #reasoningField: string | undefined
  #prose: { readonly kind: Kind; readonly key: string } | undefined
  #proseCount = 0
  /** All text so far, and the sources that the upstream names for it. */
  #text = ''
  readonly #annotations: unknown[] = []
  /** Those of tokens whose text has not come yet. */
  #logprobs: Json[] = []
  #hasRefused = false
  #hasFinished = false

  constructor({ requestId, reasoning }: Pick<CodecContext, 'requestId' | 'reasoning'>) {
    this.#calls = new ToolCalls(requestId)
    this.#seal = reasoning.seal
  }

  /** True once the upstream has said why the answer ends. */
  get hasFinished(): boolean {
    return this.#hasFinished
  }

  /** Adds to `events` what the choice says. An `error` among them ends the answer. */
  read(choice: Json, events: UpstreamEvent[]): void {
    this.#logprobs.push(...recordsOf(recordOf(choice['logprobs'])['content']))
    const delta = choice['delta'] ?? choice['message']
    if (isRecord(delta)) this.#readDelta(delta, events)
    if (choice['finish_reason'] && !this.#hasFinished) this.#finish(choice, events)
  }

  /** Calls that wait for more go out as they are. */
  flush(events: UpstreamEvent[]): void {
    this.#calls.finish(events)
  }

  #readDelta(delta: Json, events: UpstreamEvent[]): void {
    const { content, refusal, tool_calls: calls, function_call: call } = delta
    this.#annotations.push(...listOf(delta['annotations']))
    const reasoning = reasoningTextOf(delta)
    if (reasoning !== '') {
      this.#say('thinking', reasoning, events)
      this.#reasoningField ??= reasoningFieldOf(delta)
    }
    if (typeof content === 'string') this.#say('text', content, events)
    else if (Array.isArray(content)) this.#sayParts(content, events)
    if (typeof refusal === 'string' && refusal !== '') {
      if (!this.#hasRefused) events.push({ type: 'declined' })
      this.#hasRefused = true
      this.#say('text', refusal, events)
    }
    if (Array.isArray(calls) && calls.length > 0) this.#readCalls(calls, events)
    else if (isRecord(call)) this.#readCalls([{ index: 0, function: call }], events)
  }

  #sayParts(parts: readonly unknown[], events: UpstreamEvent[]): void {
    for (const part of parts) {
      const { kind, text } = contentPart(part)
      this.#say(kind, text, events)
    }
  }

  #say(kind: Kind, text: string, events: UpstreamEvent[]): void {
    if (text === '') return
    if (this.#prose?.kind !== kind) {
      this.#endProse(events)
      this.#calls.settle(events)
      this.#prose = { kind, key: `${kind}-${this.#proseCount++}` }
      events.push({ type: 'block_start', key: this.#prose.key, block: { type: kind } })
    }
    if (kind === 'text') this.#text += text
    const { key } = this.#prose
    if (kind !== 'text' || this.#logprobs.length === 0) {
      events.push({ type: 'block_delta', key, text })
      return
    }
    events.push({ type: 'block_delta', key, text, logprobs: this.#logprobs })
    this.#logprobs = []
  }

  #tellSources(events: UpstreamEvent[]): void {
    const { list, hasMore } = citedSources(this.#annotations, this.#text)
    this.#say('text', list, events)
    if (hasMore) events.push({ type: 'degraded', path: 'choices.0.message.annotations', action: 'dropped' })
  }

  #endProse(events: UpstreamEvent[]): void {
    if (!this.#prose) return
    const { kind, key } = this.#prose
    if (kind === 'thinking' && this.#reasoningField !== undefined) {
      events.push({ type: 'block_signature', key, signature: this.#seal(this.#reasoningField) })
    }
    events.push({ type: 'block_stop', key })
    this.#prose = undefined
    this.#reasoningField = undefined
  }

  #readCalls(calls: readonly unknown[], events: UpstreamEvent[]): void {
    this.#endProse(events)
    this.#calls.read(calls, events)
  }

  #finish(choice: Json, events: UpstreamEvent[]): void {
    this.#hasFinished = true
    this.#tellSources(events)
    this.#endProse(events)
    this.#calls.finish(events)
    if (this.#calls.lacksName) {
      events.push({
        type: 'error',
        code: 'upstream_unreachable',
        message: 'the upstream sent a tool call without a name',
      })
      return
    }
    events.push(stopOf(choice, { hasRefused: this.#hasRefused, hasCalls: this.#calls.hasStarted }))
  }
}

/** The first of the choices, which is the only one that was asked for. */
function firstChoice(choices: unknown): Json | undefined {
  if (!Array.isArray(choices)) return undefined
  return choices.find((choice: unknown): choice is Json => isRecord(choice) && !choice['index'])
}

/** The id of an answer and its model, which upstreams may leave out or empty. */
function startOf(body: Json): UpstreamEvent | undefined {
  const id = textOf(body['id'])
  const model = textOf(body['model'])
  if (id === '' && model === '') return undefined
  return { type: 'message_start', ...(id !== '' && { id }), ...(model !== '' && { model }) }
}
