import { Recent } from '../platform/recent.ts'
import type { SessionRow } from './session-row.ts'
import type { SessionStore } from './session-store.ts'

/** Fields of a session that never change. */
export type FixedFacts = Pick<SessionRow, 'owner_id' | 'agent_id' | 'agent_version' | 'runtime'>

/** About 200 bytes each. */
const most = 10_000

/**
 * Cache of the immutable fields of sessions used by callers of this process. It saves a query per prompt: the statement
 * that stores the prompt checks whether the session still exists.
 */
export type SessionCache = ReturnType<typeof createSessionCache>

export function createSessionCache(store: Pick<SessionStore, 'find'>) {
  const cache = new Recent<FixedFacts>(most)

  function put(id: string, { owner_id, agent_id, agent_version, runtime }: FixedFacts): FixedFacts {
    const facts = { owner_id, agent_id, agent_version, runtime }
    cache.set(id, facts)
    return facts
  }

  return {
    put,

    /** Returns undefined when `owner` has no such session. A cached session may have been deleted meanwhile. */
    async find(id: string, owner: string | undefined): Promise<FixedFacts | undefined> {
      const cached = cache.get(id)
      if (cached) return owner === undefined || cached.owner_id === owner ? cached : undefined
      const row = await store.find(id, owner)
      return row && !row.deleted_at ? put(id, row) : undefined
    },
  }
}
