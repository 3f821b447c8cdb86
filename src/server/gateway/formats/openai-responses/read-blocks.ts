import type { BlockStart, Logprobs, UpstreamEvent } from '../../core/answer-event.ts'

/** One block of the answer as far as it was sent. */
export interface Part {
  readonly start: BlockStart
  /** Name of the block that is open for it. */
  key: string | undefined
  /** All of its text that went out. */
  sent: string
  isDone: boolean
}

/** A part of which nothing went out yet. */
export const newPart = (start: BlockStart): Part => ({ start, key: undefined, sent: '', isDone: false })

/**
 * Turns what is known of the parts into events that are legal in any order of the upstream's: text and thinking never
 * overlap with another start, and a part that was interrupted goes on in a new block.
 */
export class Blocks {
  #events: UpstreamEvent[] = []
  #hasStarted = false
  #count = 0
  /** The open text or thinking. Calls may stay open beside others. */
  #open: Part | undefined

  /** Adds an event that belongs to no block. */
  say(event: UpstreamEvent): void {
    this.#events.push(event)
  }

  /** Begins the message, once. */
  start(facts: { readonly id?: string; readonly model?: string } = {}): void {
    if (this.#hasStarted) return
    this.#hasStarted = true
    this.#events.push({ type: 'message_start', ...facts })
  }

  /** Opens the part's block unless it is open. */
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

  /** Sends more of a part. */
  write(part: Part, text: string, logprobs: Logprobs = []): void {
    if (text === '' || part.isDone) return
    const key = part.key ?? this.open(part)
    part.sent += text
    this.#events.push({ type: 'block_delta', key, text, ...(logprobs.length > 0 && { logprobs }) })
  }

  /** Sends what of the whole text is still missing; what contradicts the text already sent is of no use. */
  fill(part: Part, whole: string, logprobs?: Logprobs): void {
    if (whole.length <= part.sent.length || !whole.startsWith(part.sent)) return
    // Those of what was sent went out with it.
    this.write(part, whole.slice(part.sent.length), part.sent === '' ? logprobs : [])
  }

  /** Signs a thinking block, which may be empty. */
  sign(part: Part, signature: string): void {
    if (!part.isDone) this.#events.push({ type: 'block_signature', key: this.open(part), signature })
  }

  /** Ends a part for good and lets go of its text. */
  close(part: Part): void {
    if (part.key !== undefined) this.#stop(part)
    part.isDone = true
    part.sent = ''
  }

  /** The events since the last time. */
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
