import type { SessionEvent } from '../../contract/events.ts'
import type { Notifications } from '../db/notifications.ts'
import type { Log } from '../platform/log.ts'
import { every } from '../platform/timers.ts'
import type { EventStore } from './event-store.ts'
import { type Preview, RemotePreviews } from './remote-previews.ts'

/** One reader that waits for news of a session. */
export interface Subscription {
  /** Events that follow directly on `after`, or undefined when the table must be read. */
  take(after: number): SessionEvent[] | undefined
  /** Resolves when there may be something after `after`, or the signal aborts. */
  wait(after: number, signal: AbortSignal): Promise<void>
  /** Resolves at the next news of any kind, or when the signal aborts. */
  change(signal: AbortSignal): Promise<void>
  close(): void
}

interface Deps {
  readonly store: EventStore
  readonly notifications: Notifications
  /** Names this process among its neighbours. */
  readonly owner: string
  readonly log: Log
}

interface Reader {
  /** The highest number heard of. */
  last: number
  /** Fresh events in order, without a gap; dropped when too many wait. */
  inbox: SessionEvent[]
  wake: () => void
  readonly onPreview: ((preview: Preview) => void) | undefined
}

const maxInbox = 200
const pollMs = 2_000

/**
 * Tells the readers of this process what was added to the logs: at once for writes of this process, by NOTIFY for those
 * of others, by a look at the table every 2 s when a hint was lost.
 */
export class LiveEvents {
  readonly #readers = new Map<string, Set<Reader>>()
  readonly #store: EventStore
  readonly #log: Log
  readonly #stopPolling: () => Promise<void>
  readonly #remote: RemotePreviews

  constructor({ store, notifications, owner, log }: Deps) {
    this.#store = store
    this.#log = log
    this.#remote = new RemotePreviews({
      notifications,
      owner,
      watched: () => this.#previewed(),
      deliver: (sessionId, preview) => this.#deliver(sessionId, preview),
    })
    notifications.on('session_events', hint => this.#hear(hint))
    notifications.onReconnect(() => void this.#catchUp([...this.#readers.keys()]))
    this.#stopPolling = every(pollMs, () => this.#catchUp([...this.#readers.keys()]))
  }

  /** Number of open readers. */
  get readerCount(): number {
    let count = 0
    for (const readers of this.#readers.values()) count += readers.size
    return count
  }

  subscribe(sessionId: string, onPreview?: (preview: Preview) => void): Subscription {
    const reader: Reader = { last: 0, inbox: [], wake: () => undefined, onPreview }
    const readers = this.#readers.get(sessionId) ?? new Set()
    this.#readers.set(sessionId, readers.add(reader))
    if (onPreview) this.#remote.announce(sessionId)
    return {
      take: after => takeFollowing(reader, after),
      wait: (after, signal) => (reader.last > after ? Promise.resolve() : woken(reader, signal)),
      change: signal => woken(reader, signal),
      close: () => {
        readers.delete(reader)
        if (readers.size === 0 && this.#readers.get(sessionId) === readers) this.#readers.delete(sessionId)
      },
    }
  }

  /** Hands stored events to the readers of this process. */
  publish(sessionId: string, events: readonly SessionEvent[]): void {
    for (const reader of this.#readers.get(sessionId) ?? []) {
      for (const event of events) offer(reader, event)
      reader.wake()
    }
  }

  /** Hands a preview to those readers who asked for previews. */
  preview(sessionId: string, preview: Preview): void {
    this.#deliver(sessionId, preview)
    this.#remote.send(sessionId, preview)
  }

  async stop(): Promise<void> {
    await Promise.all([this.#stopPolling(), this.#remote.stop()])
    for (const readers of this.#readers.values()) for (const reader of readers) reader.wake()
  }

  #deliver(sessionId: string, preview: Preview): void {
    for (const reader of this.#readers.get(sessionId) ?? []) reader.onPreview?.(preview)
  }

  *#previewed(): Generator<string> {
    for (const [sessionId, readers] of this.#readers) {
      if ([...readers].some(({ onPreview }) => onPreview)) yield sessionId
    }
  }

  /** `hint` is a session id and the highest number in its log. */
  #hear(hint: string): void {
    const [sessionId = '', last] = hint.split(' ')
    this.#advance(sessionId, Number(last))
  }

  #advance(sessionId: string, last: number): void {
    for (const reader of this.#readers.get(sessionId) ?? []) {
      if (last <= reader.last) continue
      reader.last = last
      reader.wake()
    }
  }

  async #catchUp(sessionIds: readonly string[]): Promise<void> {
    const watched = sessionIds.filter(id => this.#readers.has(id))
    if (watched.length === 0) return
    try {
      for (const { id, last } of await this.#store.lastSeqs(watched)) this.#advance(id, last)
    } catch (cause) {
      this.#log.debug({ err: cause }, 'could not look for new events; the next poll will')
    }
  }
}

function offer(reader: Reader, event: SessionEvent): void {
  const expected = (reader.inbox.at(-1)?.seq ?? reader.last) + 1
  if (event.seq >= expected) {
    // A gap, or a reader that does not keep up: the table has it all.
    if (event.seq > expected || reader.inbox.length >= maxInbox) reader.inbox = []
    reader.inbox.push(event)
  }
  reader.last = Math.max(reader.last, event.seq)
}

function takeFollowing(reader: Reader, after: number): SessionEvent[] | undefined {
  const fresh = reader.inbox.filter(({ seq }) => seq > after)
  reader.inbox = []
  return fresh[0]?.seq === after + 1 ? fresh : undefined
}

function woken(reader: Reader, signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    if (signal.aborted) return resolve()
    const done = () => {
      signal.removeEventListener('abort', done)
      reader.wake = () => undefined
      resolve()
    }
    reader.wake = done
    signal.addEventListener('abort', done, { once: true })
  })
}
