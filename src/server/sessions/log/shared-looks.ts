import { setImmediate as nextTurn } from 'node:timers/promises'
import { cursorOf, type FeedFilter, type FeedPage, type FeedStore, type Place } from './feed-store.ts'

/**
 * Pages of the stream over sessions, read once for all readers that ask for the same one in a turn of the event loop: those that
 * follow the end with the same filter wake together, and stay together.
 */
export function createSharedLooks({ page }: Pick<FeedStore, 'page'>): Pick<FeedStore, 'page'> {
  const waiting = new Map<string, Promise<FeedPage>>()

  const look = async (name: string, after: Place, filter: FeedFilter): Promise<FeedPage> => {
    await nextTurn()
    // Who asks from now on may have heard of something that this look does not see.
    waiting.delete(name)
    return page(after, filter)
  }

  return {
    page(after, filter) {
      const name = JSON.stringify([cursorOf(after), filter.owner, filter.agentId, filter.metadata])
      const known = waiting.get(name) ?? look(name, after, filter)
      waiting.set(name, known)
      return known
    },
  }
}
