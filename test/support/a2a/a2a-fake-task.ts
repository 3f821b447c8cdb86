import { randomUUID } from 'node:crypto'
import { EventEmitter, once } from 'node:events'
import type { Json } from '../../../src/server/platform/json.ts'

/** One thing that a task of the fake does. */
export type A2aStep =
  /** Pieces of an artifact, as its stream sends them. */
  | { readonly artifact: readonly string[]; readonly id?: string }
  /** Parts of an artifact at once. */
  | { readonly parts: readonly Json[]; readonly id?: string }
  /** A status with a message. */
  | { readonly status: string }
  /** Waits for a message to the task. */
  | { readonly ask: string; readonly state?: 'INPUT_REQUIRED' | 'AUTH_REQUIRED' }
  /** Waits for `release`, or for the end of the task. */
  | { readonly hold: true }
  /** Breaks the streams that are open, and sends no more to them. */
  | { readonly cut: true }
  /** Bytes that the open streams get as they are. */
  | { readonly raw: string }
  /** A frame that the open streams get, for this task or any other. */
  | { readonly frame: Json }
  /** Last state of the task. */
  | { readonly end: 'COMPLETED' | 'FAILED' | 'REJECTED' | 'CANCELED'; readonly text?: string }

type Artifact = { readonly artifactId: string; readonly parts: Json[] }

const ended = ['COMPLETED', 'FAILED', 'REJECTED', 'CANCELED']

/** A task of the fake, and those who follow it. */
export class FakeTask {
  readonly id = `task-${randomUUID()}`
  readonly contextId: string
  readonly artifacts: Artifact[] = []
  readonly history: Json[] = []
  /** `frame` for every change, `raw` and `cut` for what happens to streams, `wake` for a step that waits. */
  readonly events = new EventEmitter().setMaxListeners(0)
  state = 'SUBMITTED'
  #message: Json | undefined
  #changes = 0

  constructor(contextId: string, message: Json) {
    this.contextId = contextId
    this.history.push({ ...message, taskId: this.id, contextId })
  }

  get isOver(): boolean {
    return ended.includes(this.state)
  }

  get isAsking(): boolean {
    return this.state.endsWith('_REQUIRED')
  }

  toJson() {
    const { id, contextId, artifacts, history } = this
    return structuredClone({ id, contextId, status: this.#status, artifacts, history })
  }

  async play(steps: readonly A2aStep[]): Promise<void> {
    // The answer that names the task goes out first.
    await new Promise(resolve => setTimeout(resolve, 5))
    if (this.isOver) return
    this.#become('WORKING')
    for (const step of steps) {
      if (this.isOver) return
      await this.#take(step)
    }
    if (!this.isOver) this.#become('COMPLETED')
  }

  /** Takes a message to the task. */
  answer(message: Json): void {
    this.history.push(message)
    this.#become('WORKING')
    this.release()
  }

  release(): void {
    this.events.emit('wake')
  }

  cancel(): void {
    this.#become('CANCELED')
    this.release()
  }

  async #take(step: A2aStep): Promise<void> {
    if ('artifact' in step) return this.#stream(step.artifact, step.id)
    if ('parts' in step) return this.#change(step.id ?? 'result', step.parts, { append: false, lastChunk: true })
    if ('status' in step) return this.#become('WORKING', step.status)
    if ('cut' in step) return void this.events.emit('cut')
    if ('raw' in step) return void this.events.emit('raw', step.raw)
    if ('frame' in step) return void this.events.emit('frame', step.frame)
    if ('end' in step) return this.#become(step.end, step.text)
    if ('ask' in step) this.#become(step.state ?? 'INPUT_REQUIRED', step.ask)
    await once(this.events, 'wake')
  }

  async #stream(pieces: readonly string[], id = 'result'): Promise<void> {
    for (const [at, piece] of pieces.entries()) {
      this.#change(id, [{ text: piece }], { append: at > 0, lastChunk: at === pieces.length - 1 })
      await new Promise(resolve => setImmediate(resolve))
    }
  }

  #change(artifactId: string, parts: readonly Json[], flags: { append: boolean; lastChunk: boolean }): void {
    const known = this.artifacts.find(artifact => artifact.artifactId === artifactId)
    if (known && flags.append) known.parts.push(...parts)
    else if (known) known.parts.splice(0, Number.POSITIVE_INFINITY, ...parts)
    else this.artifacts.push({ artifactId, parts: [...parts] })
    this.#emit({ artifactUpdate: { ...this.#place, artifact: { artifactId, parts }, ...flags } })
  }

  #become(state: string, text?: string): void {
    this.state = state
    this.#changes += 1
    if (this.#message) this.history.push(this.#message)
    const messageId = `${this.id}-${this.#changes}`
    this.#message =
      text === undefined ? undefined : { messageId, ...this.#place, role: 'ROLE_AGENT', parts: [{ text }] }
    this.#emit({ statusUpdate: { ...this.#place, status: this.#status } })
  }

  get #status() {
    const timestamp = new Date(1_788_000_000_000 + this.#changes * 1000).toISOString()
    return { state: `TASK_STATE_${this.state}`, timestamp, ...(this.#message && { message: this.#message }) }
  }

  get #place() {
    return { taskId: this.id, contextId: this.contextId }
  }

  #emit(frame: Json): void {
    this.events.emit('frame', structuredClone(frame))
    if (this.isOver || this.isAsking) this.events.emit('settled')
  }
}
