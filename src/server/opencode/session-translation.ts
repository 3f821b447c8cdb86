import { sseFrame } from '../../contract/sse.ts'
import { newId } from '../platform/ids.ts'
import type { LiveEvents, Subscription } from '../sessions/log/live-events.ts'
import { eventOf, type LogFrame } from '../sessions/log/log-page.ts'
import type { Preview } from '../sessions/log/remote-previews.ts'
import { type BusEvent, EventMapping } from './events.ts'

/** Builds the payload that is sent for an event. */
export type Wrap = (event: BusEvent & { readonly id: string }) => object

/** A translated event, encoded once for all readers of the same kind of stream. */
export class EncodedEvent {
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

/** Translation of one log event. */
export interface TranslatedEvent {
  readonly seq: number
  readonly events: readonly EncodedEvent[]
  /** True when no run is open after it and no prompt has arrived since the last one. */
  readonly isOver: boolean
  readonly bytes: number
}

/** Bytes retained for readers that are slightly behind, in addition to the last step, when several readers follow. */
const retainedBytes = 512 * 1024
/** Bytes translated per step; a stalled reader buffers one step. A larger event is a separate step. */
const stepBytes = 64 * 1024

interface Deps {
  readonly live: Pick<LiveEvents, 'subscribe'>
  /** Returns the number of the first event that is needed to translate event `first`. */
  readonly contextOf: (sessionId: string, first: number) => Promise<number>
}

/** Translates a session's log from one event on, once for all readers that follow it. */
class SessionTranslation {
  readonly #mapping: EventMapping
  readonly #subscription: Subscription
  readonly #listeners = new Set<(events: readonly BusEvent[]) => void>()
  #recent: TranslatedEvent[] = []
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

  /** Number of the last translated event. */
  get after(): number {
    return this.#after
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  /** True when a reader that has event `after` can continue here. */
  hasFollowing(after: number): boolean {
    return after === this.#after || this.#recent.some(({ seq }) => seq === after + 1)
  }

  /** Reads the context from event `start` up to the event before `first`. */
  async begin(start: number, first: number): Promise<void> {
    this.#after = start - 1
    while (this.#after < first - 1) {
      const context = (await this.#read(first)).filter(({ seq }) => seq < first)
      if (context.length === 0) break
      for (const frame of context) this.#mapping.take(eventOf(frame))
      this.#after = context.at(-1)?.seq ?? first
    }
  }

  /**
   * Returns the events after `after`; empty at the end, undefined when they are no longer retained. Rejects with
   * `unavailable`.
   */
  async following(after: number, lastSeen: number): Promise<TranslatedEvent[] | undefined> {
    if (after === this.#after) {
      this.#advancing ??= this.#advance(lastSeen).finally(() => {
        this.#advancing = undefined
      })
      await this.#advancing
    }
    if (after === this.#after) return []
    const at = this.#recent.findIndex(({ seq }) => seq === after + 1)
    const following = at < 0 ? undefined : this.#recent.slice(at)
    // A single reader requests each event once, so no event needs to be retained.
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

  async #advance(lastSeen: number): Promise<void> {
    const frames = await this.#read(lastSeen)
    this.#trim()
    let bytes = 0
    for (const frame of frames) {
      bytes += frame.data.length
      if (bytes > stepBytes && bytes > frame.data.length) break
      const events = this.#mapping.take(eventOf(frame)).map(event => new EncodedEvent(event))
      this.#recent.push({ seq: frame.seq, events, isOver: this.#mapping.isOver, bytes: frame.data.length })
      this.#after = frame.seq
    }
  }

  async #read(lastSeen: number): Promise<readonly LogFrame[]> {
    return (await this.#subscription.read(this.#after, lastSeen)) ?? []
  }

  #trim(): void {
    let bytes = 0
    const lastDropped = this.#recent.findLastIndex(translated => {
      bytes += translated.bytes
      return bytes > retainedBytes
    })
    this.#recent = this.#recent.slice(lastDropped + 1)
  }
}

/** A reader's position in a session. */
export interface Place {
  /** Like `SessionTranslation.following`; the caller owns the list. */
  following(after: number, lastSeen: number): Promise<TranslatedEvent[] | undefined>
  /** Number of the event after which the reader starts. */
  readonly after: number
  leave(): void
}

/** Translations of the sessions that readers of this process follow. */
export class SessionTranslations {
  readonly #deps: Deps
  /** By session. Readers that are far behind the others share a separate translation. */
  readonly #open = new Map<string, Set<SessionTranslation>>()
  readonly #beginning = new Map<string, Promise<SessionTranslation>>()

  constructor(deps: Deps) {
    this.#deps = deps
  }

  /** Starts to follow a session before event `first`. `onPreview` gets droppable events. Rejects with `unavailable`. */
  async follow(sessionId: string, first: number, onPreview: (events: readonly BusEvent[]) => void): Promise<Place> {
    let translation = await this.#at(sessionId, first)
    // Its last reader may have left meanwhile.
    while (translation.isClosed) translation = await this.#at(sessionId, first)
    translation.listen(onPreview)
    return {
      after: Math.min(first - 1, translation.after),
      following: (after, lastSeen) => translation.following(after, lastSeen),
      leave: () => {
        translation.leave(onPreview)
        if (translation.isClosed) this.#drop(sessionId, translation)
      },
    }
  }

  async #at(sessionId: string, first: number): Promise<SessionTranslation> {
    for (const translation of this.#open.get(sessionId) ?? [])
      if (translation.hasFollowing(first - 1)) return translation
    const key = `${sessionId} ${first}`
    const beginning = this.#beginning.get(key) ?? this.#begin(sessionId, first)
    this.#beginning.set(key, beginning)
    return beginning.finally(() => this.#beginning.delete(key))
  }

  async #begin(sessionId: string, first: number): Promise<SessionTranslation> {
    const translation = new SessionTranslation(this.#deps, sessionId)
    try {
      await translation.begin(await this.#deps.contextOf(sessionId, first), first)
    } catch (error) {
      translation.close()
      throw error
    }
    this.#open.set(sessionId, (this.#open.get(sessionId) ?? new Set()).add(translation))
    return translation
  }

  #drop(sessionId: string, translation: SessionTranslation): void {
    const open = this.#open.get(sessionId)
    open?.delete(translation)
    if (open?.size === 0) this.#open.delete(sessionId)
  }
}
