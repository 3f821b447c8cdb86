import { Recent } from '../platform/recent.ts'
import type { SessionRow } from './session-row.ts'
import type { SessionStore } from './session-store.ts'

/** What never changes of a session. */
export type FixedFacts = Pick<SessionRow, 'owner_id' | 'agent_id' | 'agent_version' | 'runtime'>

/** Some 200 bytes each. */
const most = 10_000

/**
 * What never changes of the sessions that callers have spoken to here, so that a prompt is accepted without a look at its
 * session: the statement that stores it finds out whether that is still there.
 */
export type KnownSessions = ReturnType<typeof createKnownSessions>

export function createKnownSessions(store: Pick<SessionStore, 'find'>) {
  const known = new Recent<FixedFacts>(most)

  function keep(id: string, { owner_id, agent_id, agent_version, runtime }: FixedFacts): FixedFacts {
    const facts = { owner_id, agent_id, agent_version, runtime }
    known.set(id, facts)
    return facts
  }

  return {
    keep,

    /** Undefined when `owner` has no such session; it may have been deleted since it was seen. */
    async find(id: string, owner: string | undefined): Promise<FixedFacts | undefined> {
      const before = known.get(id)
      if (before) return owner === undefined || before.owner_id === owner ? before : undefined
      const row = await store.find(id, owner)
      return row && !row.deleted_at ? keep(id, row) : undefined
    },
  }
}
