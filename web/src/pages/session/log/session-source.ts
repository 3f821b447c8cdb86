import {
  type Client,
  EventMissing,
  type ReadEvent,
  type ReaderState,
  readEvents,
  type SessionEvent,
} from '../../../../../src/client/index.ts'
import { addDelta, type Delta } from '../../../session-log/deltas.ts'
import { append, createView, prepend } from '../../../session-log/session-view.ts'
import type { View } from '../../../session-log/view.ts'
import type { Connection, LogState } from './log-state.ts'
import { loadBack, loadPage } from './pages.ts'

interface Options {
  readonly client: Client
  readonly sessionId: string
  /** Calls `run` before the next paint. */
  readonly schedule: (run: () => void) => void
  readonly onError?: (error: unknown) => void
}

const firstLimit = 200
const olderLimit = 500
/** Time after a new connection in which missed events arrive. */
const catchUpMs = 1_000
/** A person watches: tries are at most this far apart. */
const maxRetryMs = 10_000

/** The log of a session: loads its last page, follows its stream, and loads older pages on demand. */
export class SessionSource {
  readonly #options: Options
  readonly #listeners = new Set<() => void>()
  #state: LogState = {
    view: createView(),
    connection: { name: 'loading' },
    caughtUp: undefined,
    isLoadingOlder: false,
    olderError: undefined,
  }
  #ending: AbortController | undefined
  #pending: ReadEvent[] = []
  #isScheduled = false
  #older: Promise<void> | undefined
  #lostAt: { readonly seq: number; readonly since: number } | undefined
  #gaps: number[] = []
  #isLoaded = false

  constructor(options: Options) {
    this.#options = options
  }

  get state(): LogState {
    return this.#state
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  /** Starts to follow the log, at the last event that was read. Has no effect while it follows. */
  start(): void {
    if (this.#ending) return
    const ending = new AbortController()
    this.#ending = ending
    void this.#follow(ending.signal)
  }

  /** Closes the stream. `asleep` tells that `start` follows when the tab is shown. */
  stop(connection: Connection = { name: 'asleep' }): void {
    if (!this.#ending) return
    this.#ending.abort()
    this.#ending = undefined
    this.#flush()
    if (this.#isLoaded) this.#lostAt ??= { seq: this.#lastSeq, since: Date.now() }
    this.#set({ connection })
  }

  /** Tries again at once. */
  reconnect(): void {
    this.stop({ name: 'connecting' })
    this.start()
  }

  /** Loads the page before the first event. */
  loadOlder(): Promise<void> {
    return this.#extend(before => loadPage({ ...this.#request(), limit: olderLimit, before }))
  }

  /** Loads pages until the event with that id was read. Returns false when the log does not have it. */
  async loadBackTo(eventId: string): Promise<boolean> {
    await this.#older
    if (!this.#state.view.log.has(eventId)) {
      await this.#extend(before => loadBack({ ...this.#request(), before }, ({ id }) => id === eventId))
    }
    return this.#state.view.log.has(eventId)
  }

  /** Loads the whole log. */
  async loadAll(): Promise<void> {
    await this.#older
    await this.#extend(before => loadBack({ ...this.#request(), before }, () => false))
  }

  #request() {
    const { client, sessionId } = this.#options
    return { client, sessionId, signal: this.#ending?.signal ?? new AbortController().signal }
  }

  get #lastSeq(): number {
    return this.#state.view.log.lastSeq
  }

  async #follow(signal: AbortSignal): Promise<void> {
    try {
      if (!this.#isLoaded) await this.#loadFirst(signal)
      const { client, sessionId } = this.#options
      const events = readEvents({
        client,
        sessionId,
        after: this.#lastSeq,
        eventDeltas: true,
        signal,
        pace: { maxMs: maxRetryMs },
        onState: state => this.#onState(state, signal),
      })
      for await (const event of events) this.#receive(event)
      this.#flush()
      if (!signal.aborted) this.#end(signal, { name: 'ended' })
    } catch (error) {
      if (signal.aborted) return
      this.#flush()
      this.#options.onError?.(error)
      this.#end(signal, { name: 'failed', error })
    }
  }

  #end(signal: AbortSignal, connection: Connection): void {
    if (this.#ending?.signal === signal) this.#ending = undefined
    this.#set({ connection })
  }

  async #loadFirst(signal: AbortSignal): Promise<void> {
    const page = await loadPage({ ...this.#request(), signal, limit: firstLimit })
    if (signal.aborted) return
    this.#isLoaded = true
    this.#set({ view: createView(page), connection: { name: 'connecting' } })
  }

  #onState(state: ReaderState, signal: AbortSignal): void {
    if (signal.aborted) return
    if (state.name === 'open') this.#opened()
    else if (state.name === 'waiting') this.#lost(state)
    else this.#trying()
  }

  #trying(): void {
    const { connection } = this.#state
    if (connection.name === 'lost') this.#set({ connection: { ...connection, retryAt: undefined } })
  }

  #lost(state: ReaderState & { readonly name: 'waiting' }): void {
    const now = Date.now()
    if (state.error instanceof EventMissing) this.#gaps.push(state.error.seq)
    this.#lostAt ??= { seq: this.#lastSeqReceived, since: now }
    const { since } = this.#lostAt
    this.#set({ connection: { name: 'lost', since, retryAt: now + state.retryInMs, reason: state.reason } })
  }

  #opened(): void {
    this.#set({ connection: { name: 'live' } })
    const lostAt = this.#lostAt
    if (!lostAt) return
    this.#lostAt = undefined
    const gaps = this.#gaps
    this.#gaps = []
    setTimeout(() => {
      const { view } = this.#state
      const missed = view.gap ? view.gap.to - view.gap.from + 1 : 0
      this.#set({ caughtUp: { at: Date.now(), events: this.#lastSeqReceived - lostAt.seq, missed, gaps } })
    }, catchUpMs)
  }

  /** Sequence number of the last event, also of one that waits for the next paint. */
  get #lastSeqReceived(): number {
    const last = this.#pending.findLast(({ ephemeral }) => !ephemeral)
    return last && !last.ephemeral ? last.event.seq : this.#lastSeq
  }

  #receive(event: ReadEvent): void {
    this.#pending.push(event)
    if (this.#isScheduled) return
    this.#isScheduled = true
    this.#options.schedule(() => this.#flush())
  }

  #flush(): void {
    this.#isScheduled = false
    if (this.#pending.length === 0) return
    const pending = this.#pending
    this.#pending = []
    this.#set({ view: withEvents(this.#state.view, pending) })
  }

  #extend(load: (before: number) => Promise<readonly SessionEvent[]>): Promise<void> {
    const before = this.#state.view.log.firstSeq
    if (before <= 1) return Promise.resolve()
    this.#older ??= this.#loadBefore(before, load).finally(() => {
      this.#older = undefined
    })
    return this.#older
  }

  async #loadBefore(before: number, load: (before: number) => Promise<readonly SessionEvent[]>): Promise<void> {
    this.#set({ isLoadingOlder: true, olderError: undefined })
    try {
      const events = await load(before)
      this.#set({ view: prepend(this.#state.view, events), isLoadingOlder: false })
    } catch (error) {
      this.#set({ isLoadingOlder: false, olderError: error })
    }
  }

  #set(changes: Partial<LogState>): void {
    this.#state = { ...this.#state, ...changes }
    for (const listener of this.#listeners) listener()
  }
}

/** Adds what the stream yielded, in its order; stored events in batches. */
function withEvents(view: View, received: readonly ReadEvent[]): View {
  let next = view
  let batch: SessionEvent[] = []
  for (const { ephemeral, event } of received) {
    if (!ephemeral) {
      batch.push(event)
      continue
    }
    next = addDelta(append(next, batch), event as Delta)
    batch = []
  }
  return append(next, batch)
}
