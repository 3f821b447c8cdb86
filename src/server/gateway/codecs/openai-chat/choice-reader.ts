import { isRecord, type Json, textOf } from '../../../platform/json.ts'
import type { CodecContext } from '../../translated/codec.ts'
import type { ModelEvent } from '../../translated/model-event.ts'
import { contentPart, reasoningFieldOf, reasoningTextOf } from './reasoning-text.ts'
import { stopOf } from './stop-reason.ts'
import { ToolCalls } from './tool-calls.ts'

type Kind = 'text' | 'thinking'

/** Turns what a choice says, delta by delta, into events. A whole message is one delta. */
export class ChoiceReader {
  readonly #calls: ToolCalls
  readonly #seal: (state: string) => string
  /** Where the thinking at hand came from: the next turn may have to say it there again. */
  #reasoningField: string | undefined
  #prose: { readonly kind: Kind; readonly key: string } | undefined
  #proseCount = 0
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
  read(choice: Json, events: ModelEvent[]): void {
    const delta = choice['delta'] ?? choice['message']
    if (isRecord(delta)) this.#readDelta(delta, events)
    if (choice['finish_reason'] && !this.#hasFinished) this.#finish(choice, events)
  }

  /** Calls that wait for more go out as they are. */
  flush(events: ModelEvent[]): void {
    this.#calls.finish(events)
  }

  #readDelta(delta: Json, events: ModelEvent[]): void {
    const { content, refusal, tool_calls: calls, function_call: call } = delta
    const reasoning = reasoningTextOf(delta)
    if (reasoning !== '') {
      this.#say('thinking', reasoning, events)
      this.#reasoningField ??= reasoningFieldOf(delta)
    }
    if (typeof content === 'string') this.#say('text', content, events)
    else if (Array.isArray(content)) this.#sayParts(content, events)
    if (typeof refusal === 'string' && refusal !== '') {
      this.#hasRefused = true
      this.#say('text', refusal, events)
    }
    if (Array.isArray(calls) && calls.length > 0) this.#readCalls(calls, events)
    else if (isRecord(call)) this.#readCalls([{ index: 0, function: call }], events)
  }

  #sayParts(parts: readonly unknown[], events: ModelEvent[]): void {
    for (const part of parts) {
      const { kind, text } = contentPart(part)
      this.#say(kind, text, events)
    }
  }

  #say(kind: Kind, text: string, events: ModelEvent[]): void {
    if (text === '') return
    if (this.#prose?.kind !== kind) {
      this.#endProse(events)
      this.#calls.settle(events)
      this.#prose = { kind, key: `${kind}-${this.#proseCount++}` }
      events.push({ type: 'block_start', key: this.#prose.key, block: { type: kind } })
    }
    events.push({ type: 'block_delta', key: this.#prose.key, text })
  }

  #endProse(events: ModelEvent[]): void {
    if (!this.#prose) return
    const { kind, key } = this.#prose
    if (kind === 'thinking' && this.#reasoningField !== undefined) {
      events.push({ type: 'block_signature', key, signature: this.#seal(this.#reasoningField) })
    }
    events.push({ type: 'block_stop', key })
    this.#prose = undefined
    this.#reasoningField = undefined
  }

  #readCalls(calls: readonly unknown[], events: ModelEvent[]): void {
    this.#endProse(events)
    this.#calls.read(calls, events)
  }

  #finish(choice: Json, events: ModelEvent[]): void {
    this.#hasFinished = true
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
export function firstChoice(choices: unknown): Json | undefined {
  if (!Array.isArray(choices)) return undefined
  return choices.find((choice: unknown): choice is Json => isRecord(choice) && !choice['index'])
}

/** The id of an answer and its model, which upstreams may leave out or empty. */
export function startOf(body: Json): ModelEvent | undefined {
  const id = textOf(body['id'])
  const model = textOf(body['model'])
  if (id === '' && model === '') return undefined
  return { type: 'message_start', ...(id !== '' && { id }), ...(model !== '' && { model }) }
}
