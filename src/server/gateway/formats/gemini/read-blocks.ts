import { createHash } from 'node:crypto'
import { isRecord, type Json, nonEmptyText } from '../../../platform/json.ts'
import type { UpstreamEvent } from '../../core/answer-event.ts'
import type { CodecContext } from '../../core/codec.ts'
import { type ReasoningState, rememberCall, writeState } from './carried-state.ts'

interface Run {
  readonly kind: 'text' | 'thinking'
  readonly key: string
  signature: string | undefined
}

const idPattern = /^[a-zA-Z0-9_-]{1,128}$/

/**
 * The blocks of one answer. Parts of a kind that follow each other are one block. Signatures that clients have no place
 * for travel sealed in thinking blocks, next to what they belong to.
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

  /** The events since the last time. */
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
    if (signature !== undefined) this.#signWords(signature)
  }

  /** Text that is not part of what comes before or after it. */
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
    if (signature !== undefined) rememberCall(this.#context, id, signature)
    const key = this.#nextKey()
    const args = isRecord(call['args']) ? call['args'] : {}
    this.add({ type: 'block_start', key, block: { type: 'tool_use', id, name: nonEmptyText(call['name']) ?? '' } })
    this.add({ type: 'block_delta', key, text: JSON.stringify(args) })
    this.add({ type: 'block_stop', key })
  }

  /** A part that must come back as it is, and that clients have no block for. */
  opaque(part: Json): void {
    this.#sealApart({ at: 'part', part })
  }

  /** The upstream is done with the open block. Only now a signature may vouch for it. */
  close(): void {
    this.#close(undefined)
  }

  /** Thoughts that end at a call carry the call's signature too. */
  #close(call: string | undefined): void {
    const run = this.#run
    if (!run) return
    const signature = run.signature === undefined ? {} : { signature: run.signature }
    if (run.kind === 'thinking') {
      this.#seal({ at: 'thought', ...signature, ...(call !== undefined && { call }) })
      return
    }
    this.#run = undefined
    this.add({ type: 'block_stop', key: run.key })
    if (run.signature !== undefined) this.#sealApart({ at: 'text', signature: run.signature })
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

  /** The signature of a finished answer comes with an empty text: it belongs to the words before it. */
  #signWords(signature: string): void {
    if (this.#run?.signature !== undefined) this.close()
    if (this.#run) this.#run.signature = signature
    else this.#sealApart({ at: 'text', signature })
  }

  /** A thinking block without text. */
  #sealApart(state: ReasoningState): void {
    this.#open('thinking')
    this.#seal(state)
  }

  /** Ends the open thinking block. */
  #seal(state: ReasoningState): void {
    const key = this.#run?.key
    if (key === undefined) return
    this.#run = undefined
    this.add({ type: 'block_signature', key, signature: this.#context.reasoning.seal(writeState(state)) })
    this.add({ type: 'block_stop', key })
  }

  /** Gemini's own id where clients take it, else one that comes out the same whenever this answer is read. */
  #idOf(given: unknown): string {
    const position = this.#calls++
    const own = nonEmptyText(given)
    const isUsable = own !== undefined && idPattern.test(own) && !this.#ids.has(own)
    const id = isUsable ? own : madeId(this.#context.requestId, position)
    this.#ids.add(id)
    return id
  }

  #nextKey(): string {
    return String(this.#count++)
  }
}

const madeId = (requestId: string, position: number): string =>
  `call_${createHash('sha256').update(`${requestId}:${position}`).digest('base64url').slice(0, 24)}`
