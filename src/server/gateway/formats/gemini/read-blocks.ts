import { createHash } from 'node:crypto'
import { isRecord, type Json, nonEmptyText } from '../../../platform/json.ts'
import type { UpstreamEvent } from '../../core/answer-event.ts'
import type { CodecContext } from '../../core/codec.ts'
import { storeCallSignature } from '../shared/call-signatures.ts'
import { type ReasoningState, writeState } from './carried-state.ts'

interface Run {
  readonly kind: 'text' | 'thinking'
  readonly key: string
  signature: string | undefined
}

const idPattern = /^[a-zA-Z0-9_-]{1,128}$/

/**
 * Blocks of one answer. Consecutive parts of one kind form one block. Signatures without a place in client formats are
 * carried in signed thinking blocks next to their part.
 */
export class AnswerBlocks {
  readonly #context: CodecContext
  readonly #ids = new Set<string>()
  #events: UpstreamEvent[] = []
  #count = 0
  #calls = 0
  #run: Run | undefined

  constructor(context: CodecContext) {
    this.#context = context
  }

  get isEmpty(): boolean {
    return this.#count === 0
  }

  /** Returns the events since the last call. */
  take(): readonly UpstreamEvent[] {
    const events = this.#events
    this.#events = []
    return events
  }

  add(event: UpstreamEvent): void {
    this.#events.push(event)
  }

  text(text: string, signature?: string): void {
    if (text !== '') {
      if (this.#run?.kind !== 'text') this.#open('text')
      this.#delta(text)
    }
    if (signature !== undefined) this.#signText(signature)
  }

  /** Adds a text as a separate block. */
  separateText(text: string): void {
    this.close()
    this.text(text)
    this.close()
  }

  thought(text: string, signature?: string): void {
    if (text === '' && signature === undefined) return
    if (this.#run?.kind !== 'thinking' || this.#run.signature !== undefined) this.#open('thinking')
    if (text !== '') this.#delta(text)
    if (signature !== undefined && this.#run) this.#run.signature = signature
  }

  call(call: Json, signature: string | undefined): void {
    this.#close(signature)
    const id = this.#idOf(call['id'])
    if (signature !== undefined) storeCallSignature(this.#context, id, signature)
    const key = this.#nextKey()
    const args = isRecord(call['args']) ? call['args'] : {}
    this.add({ type: 'block_start', key, block: { type: 'tool_use', id, name: nonEmptyText(call['name']) ?? '' } })
    this.add({ type: 'block_delta', key, text: JSON.stringify(args) })
    this.add({ type: 'block_stop', key })
  }

  /** Adds a part without an equivalent block, which the next request must contain unchanged. */
  opaque(part: Json): void {
    this.#addState({ at: 'part', part })
  }

  /** Ends the open block. It is signed only now, because a signature must not cover a partial block. */
  close(): void {
    this.#close(undefined)
  }

  /** Ends the open block. Thinking before a call also carries the signature of the call. */
  #close(call: string | undefined): void {
    const run = this.#run
    if (!run) return
    const signature = run.signature === undefined ? {} : { signature: run.signature }
    if (run.kind === 'thinking') {
      this.#sign({ at: 'thought', ...signature, ...(call !== undefined && { call }) })
      return
    }
    this.#run = undefined
    this.add({ type: 'block_stop', key: run.key })
    if (run.signature !== undefined) this.#addState({ at: 'text', signature: run.signature })
  }

  #open(kind: Run['kind']): void {
    this.close()
    const key = this.#nextKey()
    this.#run = { kind, key, signature: undefined }
    this.add({ type: 'block_start', key, block: { type: kind } })
  }

  #delta(text: string): void {
    if (this.#run) this.add({ type: 'block_delta', key: this.#run.key, text })
  }

  /** Assigns a signature to the preceding text: at the end of an answer it comes with an empty text. */
  #signText(signature: string): void {
    if (this.#run?.signature !== undefined) this.close()
    if (this.#run) this.#run.signature = signature
    else this.#addState({ at: 'text', signature })
  }

  /** Adds a thinking block without text that carries a state. */
  #addState(state: ReasoningState): void {
    this.#open('thinking')
    this.#sign(state)
  }

  /** Signs and ends the open thinking block. */
  #sign(state: ReasoningState): void {
    const key = this.#run?.key
    if (key === undefined) return
    this.#run = undefined
    this.add({ type: 'block_signature', key, signature: this.#context.reasoning.sign(writeState(state)) })
    this.add({ type: 'block_stop', key })
  }

  /** Returns Gemini's id if clients accept it, else a generated one that is the same whenever this answer is read. */
  #idOf(given: unknown): string {
    const position = this.#calls++
    const own = nonEmptyText(given)
    const isUsable = own !== undefined && idPattern.test(own) && !this.#ids.has(own)
    const id = isUsable ? own : generatedId(this.#context.requestId, position)
    this.#ids.add(id)
    return id
  }

  #nextKey(): string {
    return String(this.#count++)
  }
}

const generatedId = (requestId: string, position: number): string =>
  `call_${createHash('sha256').update(`${requestId}:${position}`).digest('base64url').slice(0, 24)}`
