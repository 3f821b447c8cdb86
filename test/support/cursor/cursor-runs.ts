import type { ServerResponse } from 'node:http'
import { sseFrame } from '../../../src/contract/sse.ts'

export type CursorStatus = 'CREATING' | 'RUNNING' | 'FINISHED' | 'ERROR' | 'CANCELLED' | 'EXPIRED'

/** How a run of the fake ends. */
export interface CursorEnd {
  readonly status?: Exclude<CursorStatus, 'CREATING' | 'RUNNING'>
  /** Last output of the run; also its stored result. */
  readonly text?: string
  readonly git?: { readonly branches: readonly Readonly<Record<string, string>>[] }
  readonly error?: unknown
}

/** One thing that a run of the fake does. */
export type CursorStep =
  /** A native event; its id is made up unless given, and null is none. */
  | { readonly event: string; readonly data: unknown; readonly id?: string | null }
  /** Waits for `release`. */
  | { readonly hold: true }
  /** Breaks each stream that gets here, that many times. */
  | { readonly cut: number }
  /** Bytes that each stream gets as they are. */
  | { readonly raw: string }
  /** The stored end without any event of it. */
  | { readonly silentEnd: CursorEnd }
  /** `result`, then `done`, and the stored end. */
  | { readonly end: CursorEnd }

type Frame = { readonly text: string; readonly id: string | undefined } | { cutsLeft: number }

/** One run, and those who follow it. */
export class FakeRun {
  readonly id: string
  readonly agentId: string
  readonly createdAt: string
  status: CursorStatus = 'CREATING'
  end: CursorEnd | undefined
  readonly #frames: Frame[] = []
  readonly #followers = new Set<() => void>()
  #release: (() => void) | undefined
  #isClosed = false

  constructor(id: string, agentId: string, createdAt: string) {
    this.id = id
    this.agentId = agentId
    this.createdAt = createdAt
  }

  get isActive(): boolean {
    return this.status === 'CREATING' || this.status === 'RUNNING'
  }

  /** As the API shows it; in lists without its output. */
  toJson(place: 'alone' | 'in a list' = 'alone') {
    const { id, agentId, createdAt, status, end } = this
    const result = place === 'in a list' || !end ? {} : { result: end.text, durationMs: 1200, error: end.error }
    return { id, agentId, status, createdAt, updatedAt: createdAt, ...result, git: end?.git }
  }

  async play(steps: readonly CursorStep[]): Promise<void> {
    // The answer that names the run goes out first.
    await new Promise(resolve => setImmediate(resolve))
    if (this.status === 'CREATING') this.status = 'RUNNING'
    for (const step of steps) {
      if (!this.isActive) return
      if ('hold' in step) await new Promise<void>(resolve => (this.#release = resolve))
      else this.#take(step)
    }
    if (this.isActive) this.finish({})
  }

  release(): void {
    this.#release?.()
    this.#release = undefined
  }

  /** Ends the run: `result`, `done`, and its stored state. */
  finish(end: CursorEnd): void {
    if (!this.isActive) return
    this.#store(end)
    const { text, git, error } = end
    this.#emit('result', { runId: this.id, status: this.status, text, durationMs: 1200, git, error })
    this.#emit('done', {})
    this.#close()
  }

  #take(step: Exclude<CursorStep, { hold: true }>): void {
    if ('event' in step) this.#emit(step.event, step.data, step.id)
    else if ('cut' in step) this.#add({ cutsLeft: step.cut })
    else if ('raw' in step) this.#add({ text: step.raw, id: undefined })
    else if ('end' in step) this.finish(step.end)
    else {
      this.#store(step.silentEnd)
      this.#close()
    }
  }

  #store(end: CursorEnd): void {
    this.status = end.status ?? 'FINISHED'
    this.end = end
  }

  #emit(event: string, data: unknown, id: string | null = `${1713033006000 + this.#frames.length}-0`): void {
    this.#add({
      text: sseFrame({ event, data: JSON.stringify(data), ...(id !== null && { id }) }),
      id: id ?? undefined,
    })
  }

  #add(frame: Frame): void {
    this.#frames.push(frame)
    for (const wake of this.#followers) wake()
  }

  #close(): void {
    this.#isClosed = true
    this.release()
    for (const wake of this.#followers) wake()
  }

  /** Place behind the event of that id; undefined when the run has none of it. */
  placeAfter(id: string | undefined): number | undefined {
    if (id === undefined) return 0
    const at = this.#frames.findLastIndex(frame => 'id' in frame && frame.id === id)
    return at < 0 ? undefined : at + 1
  }

  /** Sends what is there from that place on, and what comes. */
  follow(response: ServerResponse, place: number): void {
    let at = place
    const send = (): void => {
      for (; at < this.#frames.length; at++) {
        const frame = this.#frames[at]
        if (frame === undefined) continue
        if ('text' in frame) response.write(frame.text)
        else if (frame.cutsLeft-- > 0) {
          // The text before it arrives.
          response.write(': cut\n\n', () => response.destroy())
          return
        }
      }
      if (this.#isClosed) response.end()
    }
    // Not repeatable: it has no id, and comes again with each connection.
    response.write(sseFrame({ event: 'status', data: JSON.stringify({ runId: this.id, status: this.status }) }))
    this.#followers.add(send)
    response.once('close', () => this.#followers.delete(send))
    send()
  }
}
