import { recordsOf, textOf } from '../../../platform/json.ts'
import type { BlockStart, UpstreamEvent } from '../../core/answer-event.ts'

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
  write(part: Part, text: string): void {
    if (text === '' || part.isDone) return
    const key = part.key ?? this.open(part)
    part.sent += text
    this.#events.push({ type: 'block_delta', key, text })
  }

  /** Sends what of the whole text is still missing; what contradicts the text already sent is of no use. */
  fill(part: Part, whole: string): void {
    if (whole.length > part.sent.length && whole.startsWith(part.sent)) this.write(part, whole.slice(part.sent.length))
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

/** What the annotations of a text say that the text itself does not. */
interface CitedSources {
  /** To be put behind the text; empty when the text names all of its sources. */
  readonly list: string
  /** True when something was left out. */
  readonly hasMore: boolean
}

/** The cited pages whose address is not in `text`. Behind JSON nothing can be put: it would no longer be JSON. */
export function citedSources(annotations: unknown, text: string): CitedSources {
  const cited = recordsOf(annotations)
  if (cited.length === 0) return { list: '', hasMore: false }
  const pages = new Map<string, string>()
  for (const { type, url, title } of cited) {
    const address = textOf(url)
    if (type === 'url_citation' && address !== '' && !text.includes(address)) pages.set(address, textOf(title))
  }
  const hasOthers = cited.some(({ type }) => type !== 'url_citation')
  if (pages.size === 0) return { list: '', hasMore: hasOthers }
  if (/^\s*[{[]/.test(text)) return { list: '', hasMore: true }
  const lines = [...pages].map(([url, title]) => (title ? `- ${title}: ${url}` : `- ${url}`))
  return { list: `\n\nSources:\n${lines.join('\n')}`, hasMore: hasOthers }
}
