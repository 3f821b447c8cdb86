import { sseFrame } from '../../contract/sse.ts'
import { newId } from '../platform/ids.ts'
import type { LiveEvents, Subscription } from '../sessions/log/live-events.ts'
import { eventOf, type LogFrame } from '../sessions/log/log-page.ts'
import type { Preview } from '../sessions/log/remote-previews.ts'
import { type BusEvent, EventMapping } from './events.ts'

/** What is sent for an event. */
export type Wrap = (event: BusEvent & { readonly id: string }) => object

/** An event in opencode's words, encoded once for all readers of a kind of stream. */
export class ToldEvent {
  readonly event: BusEvent & { readonly id: string }
  readonly #frames = new Map<Wrap, Buffer>()

  constructor(event: BusEvent) {
    this.event = { id: newId('evt'), ...event }
  }

  frame(wrap: Wrap): Buffer {
    const frame = this.#frames.get(wrap) ?? Buffer.from(sseFrame({ data: JSON.stringify(wrap(this.event)) }))
    this.#frames.set(wrap, frame)
    return frame
  }
}

/** What one event of the log became. */
export interface Told {
  readonly seq: number
  readonly events: readonly ToldEvent[]
  /** True when no run is open behind it, and no prompt has come since the last one. */
  readonly isOver: boolean
  readonly bytes: number
}

/** What is retained where several readers follow, for those that are a little behind, besides the last step. */
const retainedBytes = 512 * 1024
/** What is put into words in one step: a reader that does not read holds one. An event that is larger is a step of its own. */
const stepBytes = 64 * 1024

interface Deps {
  readonly live: Pick<LiveEvents, 'subscribe'>
  /** Number of the first event that has to be known to understand event `first`. */
  readonly contextOf: (sessionId: string, first: number) => Promise<number>
}

/** A session's log in opencode's words from one event on, worked out once for all readers that follow it. */
class Telling {
  readonly #mapping: EventMapping
  readonly #subscription: Subscription
  readonly #listeners = new Set<(events: readonly BusEvent[]) => void>()
  #recent: Told[] = []
  #after = 0
  #isClosed = false
  #advancing: Promise<void> | undefined

  constructor({ live }: Deps, sessionId: string) {
    this.#mapping = new EventMapping(sessionId)
    const onPreview = (preview: Preview) => {
      if (this.#listeners.size === 0) return
      const events = this.#mapping.preview(preview)
      for (const listener of this.#listeners) listener(events)
    }
    this.#subscription = live.subscribe(sessionId, { onPreview })
  }

  /** The number of the last event that was worked out. */
  get after(): number {
    return this.#after
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  /** True when a reader that has event `after` can go on here. */
  hasFollowing(after: number): boolean {
    return after === this.#after || this.#recent.some(({ seq }) => seq === after + 1)
  }

  /** Reads what has to be known, up to the event before `first`. */
  async begin(start: number, first: number): Promise<void> {
    this.#after = start - 1
    while (this.#after < first - 1) {
      const known = (await this.#read(first)).filter(({ seq }) => seq < first)
      if (known.length === 0) break
      for (const frame of known) this.#mapping.take(eventOf(frame))
      this.#after = known.at(-1)?.seq ?? first
    }
  }

  /** What follows on `after`; empty when nothing does, undefined when it is not retained any more. Rejects with `unavailable`. */
  async following(after: number, heardLast: number): Promise<Told[] | undefined> {
    if (after === this.#after) {
      this.#advancing ??= this.#advance(heardLast).finally(() => {
        this.#advancing = undefined
      })
      await this.#advancing
    }
    if (after === this.#after) return []
    const at = this.#recent.findIndex(({ seq }) => seq === after + 1)
    const following = at < 0 ? undefined : this.#recent.slice(at)
    // A reader that is alone here asks for each event once.
    if (this.#listeners.size === 1) this.#recent = []
    return following
  }

  listen(listener: (events: readonly BusEvent[]) => void): void {
    this.#listeners.add(listener)
  }

  leave(listener: (events: readonly BusEvent[]) => void): void {
    this.#listeners.delete(listener)
    if (this.#listeners.size === 0) this.close()
  }

  close(): void {
    this.#isClosed = true
    this.#subscription.close()
  }

  async #advance(heardLast: number): Promise<void> {
    const frames = await this.#read(heardLast)
    this.#trim()
    let bytes = 0
    for (const frame of frames) {
      bytes += frame.data.length
      if (bytes > stepBytes && bytes > frame.data.length) break
      const events = this.#mapping.take(eventOf(frame)).map(event => new ToldEvent(event))
      this.#recent.push({ seq: frame.seq, events, isOver: this.#mapping.isOver, bytes: frame.data.length })
      this.#after = frame.seq
    }
  }

  async #read(heardLast: number): Promise<readonly LogFrame[]> {
    return (await this.#subscription.read(this.#after, heardLast)) ?? []
  }

  #trim(): void {
    let bytes = 0
    const kept = this.#recent.findLastIndex(told => {
      bytes += told.bytes
      return bytes > retainedBytes
    })
    this.#recent = this.#recent.slice(kept + 1)
  }
}

/** A reader's place in a session. */
export interface Place {
  /** As `Telling.following`; the list is the caller's. */
  following(after: number, heardLast: number): Promise<Told[] | undefined>
  /** The number of the first event that will follow. */
  readonly after: number
  leave(): void
}

/** The sessions that readers of this process follow. */
export class Tellings {
  readonly #deps: Deps
  /** By session: readers that are far behind the others have one of their own, together. */
  readonly #open = new Map<string, Set<Telling>>()
  readonly #beginning = new Map<string, Promise<Telling>>()

  constructor(deps: Deps) {
    this.#deps = deps
  }

  /** Begins to follow a session right before event `first`. `onPreview` gets what may be lost. Rejects with `unavailable`. */
  async follow(sessionId: string, first: number, onPreview: (events: readonly BusEvent[]) => void): Promise<Place> {
    let telling = await this.#at(sessionId, first)
    // Its last reader may have left while this one came.
    while (telling.isClosed) telling = await this.#at(sessionId, first)
    telling.listen(onPreview)
    return {
      after: Math.min(first - 1, telling.after),
      following: (after, heardLast) => telling.following(after, heardLast),
      leave: () => {
        telling.leave(onPreview)
        if (telling.isClosed) this.#drop(sessionId, telling)
      },
    }
  }

  async #at(sessionId: string, first: number): Promise<Telling> {
    for (const telling of this.#open.get(sessionId) ?? []) if (telling.hasFollowing(first - 1)) return telling
    const key = `${sessionId} ${first}`
    const beginning = this.#beginning.get(key) ?? this.#begin(sessionId, first)
    this.#beginning.set(key, beginning)
    return beginning.finally(() => this.#beginning.delete(key))
  }

  async #begin(sessionId: string, first: number): Promise<Telling> {
    const telling = new Telling(this.#deps, sessionId)
    try {
      await telling.begin(await this.#deps.contextOf(sessionId, first), first)
    } catch (error) {
      telling.close()
      throw error
    }
    this.#open.set(sessionId, (this.#open.get(sessionId) ?? new Set()).add(telling))
    return telling
  }

  #drop(sessionId: string, telling: Telling): void {
    const open = this.#open.get(sessionId)
    open?.delete(telling)
    if (open?.size === 0) this.#open.delete(sessionId)
  }
}
