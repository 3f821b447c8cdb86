import { setImmediate as nextTurn } from 'node:timers/promises'
import { cursorOf, type FeedFilter, type FeedPage, type FeedStore, type Place } from './feed-store.ts'

/**
 * Pages of the feed, queried once for all readers that request the same page in one turn of the event loop. Readers
 * that follow the end with the same filter wake together and so stay together.
 */
export function createSharedReads({ page }: Pick<FeedStore, 'page'>): Pick<FeedStore, 'page'> {
  const waiting = new Map<string, Promise<FeedPage>>()

  const read = async (name: string, after: Place, filter: FeedFilter): Promise<FeedPage> => {
    await nextTurn()
    // A later reader may know of an event that this query does not see.
    waiting.delete(name)
    return page(after, filter)
  }

  return {
    page(after, filter) {
      const name = JSON.stringify([cursorOf(after), filter.owner, filter.agentId, filter.metadata])
      const pending = waiting.get(name) ?? read(name, after, filter)
      waiting.set(name, pending)
      return pending
    },
  }
}
