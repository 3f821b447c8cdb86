import type { BlockStart, Logprobs, UpstreamEvent } from '../../core/answer-event.ts'

/** Block of the answer, and what was sent of it. */
export interface Part {
  readonly start: BlockStart
  /** Key of its open block; undefined while none is open. */
  key: string | undefined
  /** Text sent so far. */
  sent: string
  isDone: boolean
}

/** Returns a part that was not sent yet. */
export const newPart = (start: BlockStart): Part => ({ start, key: undefined, sent: '', isDone: false })

/**
 * Writes parts as events in a legal order, whatever the upstream's order: another start ends open text or thinking, and
 * an interrupted part continues in a new block.
 */
export class Blocks {
  #events: UpstreamEvent[] = []
  #hasStarted = false
  #count = 0
  /** The open text or thinking. Calls may stay open next to other blocks. */
  #open: Part | undefined

  /** Adds an event outside of blocks. */
  add(event: UpstreamEvent): void {
    this.#events.push(event)
  }

  /** Starts the message, unless it has started. */
  start(facts: { readonly id?: string; readonly model?: string } = {}): void {
    if (this.#hasStarted) return
    this.#hasStarted = true
    this.#events.push({ type: 'message_start', ...facts })
  }

  /** Opens a block for the part, unless one is open. Returns its key. */
  open(part: Part): string {
    if (part.key !== undefined) return part.key
    this.start()
    if (this.#open) this.#stop(this.#open)
    const key = String(this.#count++)
    part.key = key
    if (part.start.type !== 'tool_use') this.#open = part
    this.#events.push({ type: 'block_start', key, block: part.start })
    return key
  }

  /** Writes more text of a part. */
  write(part: Part, text: string, logprobs: Logprobs = []): void {
    if (text === '' || part.isDone) return
    const key = part.key ?? this.open(part)
    part.sent += text
    this.#events.push({ type: 'block_delta', key, text, ...(logprobs.length > 0 && { logprobs }) })
  }

  /** Writes the missing rest of the whole text. A whole text that contradicts the sent text is ignored. */
  fill(part: Part, whole: string, logprobs?: Logprobs): void {
    if (whole.length <= part.sent.length || !whole.startsWith(part.sent)) return
    // Logprobs of text that was sent before were sent with it.
    this.write(part, whole.slice(part.sent.length), part.sent === '' ? logprobs : [])
  }

  /** Signs a thinking block, which may be empty. */
  sign(part: Part, signature: string): void {
    if (!part.isDone) this.#events.push({ type: 'block_signature', key: this.open(part), signature })
  }

  /** Ends a part finally and releases its text. */
  close(part: Part): void {
    if (part.key !== undefined) this.#stop(part)
    part.isDone = true
    part.sent = ''
  }

  /** Returns the events since the last call. */
  take(): readonly UpstreamEvent[] {
    const events = this.#events
    this.#events = []
    return events
  }

  #stop(part: Part): void {
    if (part.key === undefined) return
    this.#events.push({ type: 'block_stop', key: part.key })
    part.key = undefined
    if (this.#open === part) this.#open = undefined
  }
}
