import type { RowCipher } from '../../db/encrypted-rows.ts'
import type { Notifications } from '../../db/notifications.ts'
import { DatabaseUnavailable } from '../../platform/errors.ts'
import { pause } from '../../platform/timers.ts'
import type { ResponseName } from '../responses/store.ts'
import { withoutFirst } from './events.ts'
import { type EventPage, eventsChannel } from './rows.ts'
import type { BackgroundStore } from './store.ts'

interface Deps {
  readonly store: Pick<BackgroundStore, 'page'>
  readonly cipher: RowCipher<'background_events'>
  readonly notifications: Pick<Notifications, 'on' | 'onReconnect'>
}

interface Following {
  /** Number of the last event that the reader has; -1 for none. */
  readonly after: number
  readonly signal: AbortSignal
}

interface Place {
  readonly name: ResponseName
  readonly from: number
  readonly signal: AbortSignal
}

const isOpen = ({ status }: EventPage): boolean => status === 'queued' || status === 'in_progress'

/** Interval at which a reader checks for events, in case a notification was lost. */
const pollMs = 2_000
const retryMs = 500

/** Readers of the events of background responses, in this process. */
export type EventReading = ReturnType<typeof createEventReading>

/** Must be created before the notifications start. */
export function createEventReading({ store, cipher, notifications }: Deps) {
  const readers = new Map<string, Set<() => void>>()
  notifications.on(eventsChannel, id => {
    for (const wake of readers.get(id) ?? []) wake()
  })
  notifications.onReconnect(() => {
    for (const all of readers.values()) for (const wake of all) wake()
  })

  /** Returns a signal that aborts at the next change of the response. */
  function nextChange(id: string): { readonly signal: AbortSignal; readonly close: () => void } {
    const changed = new AbortController()
    const wake = () => changed.abort()
    const all = readers.get(id) ?? new Set()
    readers.set(id, all.add(wake))
    return {
      signal: changed.signal,
      close() {
        all.delete(wake)
        if (all.size === 0 && readers.get(id) === all) readers.delete(id)
      },
    }
  }

  /**
   * Returns the next page. `later`: after a change, where the page was empty and the response has not ended, or after a
   * pause, when the database is unavailable.
   */
  async function pageOrChange({ name, from, signal }: Place): Promise<EventPage | 'later' | undefined> {
    // Before the read, so that no change is missed in between.
    const change = nextChange(name.id)
    try {
      const page = await store.page(name, from)
      if (!page || page.rows.length > 0 || !isOpen(page)) return page
      await pause(pollMs, AbortSignal.any([signal, change.signal]))
    } catch (error) {
      if (!(error instanceof DatabaseUnavailable)) throw error
      await pause(retryMs, signal)
    } finally {
      change.close()
    }
    return 'later'
  }

  /** Returns the next page with rows; undefined at the end of the response, or once the signal aborts. */
  async function nextPage(place: Place): Promise<EventPage | undefined> {
    while (!place.signal.aborted) {
      const page = await pageOrChange(place)
      if (page !== 'later') return page?.rows.length === 0 ? undefined : page
    }
    return undefined
  }

  return {
    /**
     * Yields the frames of a response after a position, page by page, and follows new ones. Returns at the end of the
     * response, when it is deleted, or when the signal aborts.
     */
    async *follow(name: ResponseName, { after, signal }: Following): AsyncGenerator<string> {
      let next = after + 1
      const read = () => nextPage({ name, from: next, signal })
      for (let page = await read(); page; page = await read()) {
        for (const row of page.rows) {
          yield withoutFirst(cipher.decrypt(row).toString(), next - Number(row.place))
          next = row.last_event + 1
        }
      }
    },
  }
}
