import type { Pool } from 'pg'
import type { Memory } from '../../contract/memories.ts'
import { Recent } from '../platform/recent.ts'
import { columns, type MemoryRow, order, toMemory } from './rows.ts'

const candidatesText = `
  select ${columns} from memories m where m.agent_id = $1 and not m.disabled and octet_length(m.text) <= $2
  order by ${order} limit $3`
/** Returns one row without a memory for a session that was recorded without memories. */
const givenText = `
  select ${columns}, cardinality(s.memory_ids) = 0 as is_empty from session_memories s left join (
    unnest(s.memory_ids) with ordinality as g (id, at) join memories m on m.id = g.id and m.agent_id = $2 and not m.disabled
  ) on true
  where s.session_id = $1 order by g.at`

/** About 100 bytes each. */
const maxEmptySessions = 10_000

interface NoMemory {
  readonly id: null
}

/** Table `session_memories`: the memories that each session got at its start. */
export type SessionMemoryStore = ReturnType<typeof sessionMemoryStore>

export function sessionMemoryStore(pool: Pool) {
  /** Cached sessions that were recorded without memories, which never changes. */
  const emptySessions = new Recent<true>(maxEmptySessions)

  return {
    /** Returns the first `limit` enabled memories of at most `maxBytes`, in the order of injection. */
    async candidates(
      agentId: string,
      { maxBytes, limit }: { readonly maxBytes: number; readonly limit: number },
    ): Promise<Memory[]> {
      const query = { name: 'memories_to_give', text: candidatesText, values: [agentId, maxBytes, limit] }
      return (await pool.query<MemoryRow>(query)).rows.map(toMemory)
    },

    /**
     * Returns the recorded memories of the session that still exist and are enabled; undefined before the first record.
     */
    async injected({
      id,
      agent_id,
    }: {
      readonly id: string
      readonly agent_id: string
    }): Promise<Memory[] | undefined> {
      if (emptySessions.get(id)) return []
      const query = { name: 'given_memories', text: givenText, values: [id, agent_id] }
      const { rows } = await pool.query<(MemoryRow | NoMemory) & { readonly is_empty: boolean }>(query)
      if (rows[0]?.is_empty) emptySessions.set(id, true)
      return rows.length === 0 ? undefined : rows.filter(row => row.id !== null).map(toMemory)
    },

    /** Records the memories of the session; returns false when they were recorded before. */
    async recordInjected(sessionId: string, memoryIds: readonly string[]): Promise<boolean> {
      const text = 'insert into session_memories (session_id, memory_ids) values ($1, $2) on conflict do nothing'
      const { rowCount } = await pool.query({ name: 'give_memories', text, values: [sessionId, memoryIds] })
      if (rowCount === 1 && memoryIds.length === 0) emptySessions.set(sessionId, true)
      return rowCount === 1
    },
  }
}
