import type { Pool } from 'pg'
import type { Memory } from '../../contract/memories.ts'
import { Recent } from '../platform/recent.ts'
import { columns, type MemoryRow, order, toMemory } from './rows.ts'

const candidatesText = `
  select ${columns} from memories m where m.agent_id = $1 and not m.disabled and octet_length(m.text) <= $2
  order by ${order} limit $3`
/** One row without a memory when it was noted that nothing is given. */
const givenText = `
  select ${columns}, cardinality(s.memory_ids) = 0 as is_empty from session_memories s left join (
    unnest(s.memory_ids) with ordinality as g (id, at) join memories m on m.id = g.id and m.agent_id = $2 and not m.disabled
  ) on true
  where s.session_id = $1 order by g.at`

/** Some 100 bytes each. */
const mostWithout = 10_000

interface NoMemory {
  readonly id: null
}

/** Table `session_memories`: what each session was given at its start. */
export type SessionMemoryStore = ReturnType<typeof sessionMemoryStore>

export function sessionMemoryStore(pool: Pool) {
  /** Sessions for which it was noted that they are given nothing, which stays so. */
  const without = new Recent<true>(mostWithout)

  return {
    /** The first `limit` that are enabled and not longer than `maxBytes`, in the order of injection. */
    async candidates(
      agentId: string,
      { maxBytes, limit }: { readonly maxBytes: number; readonly limit: number },
    ): Promise<Memory[]> {
      const query = { name: 'memories_to_give', text: candidatesText, values: [agentId, maxBytes, limit] }
      return (await pool.query<MemoryRow>(query)).rows.map(toMemory)
    },

    /** What the session was given, as far as it is there and enabled; undefined when nothing was noted yet. */
    async given({ id, agent_id }: { readonly id: string; readonly agent_id: string }): Promise<Memory[] | undefined> {
      if (without.get(id)) return []
      const query = { name: 'given_memories', text: givenText, values: [id, agent_id] }
      const { rows } = await pool.query<(MemoryRow | NoMemory) & { readonly is_empty: boolean }>(query)
      if (rows[0]?.is_empty) without.set(id, true)
      return rows.length === 0 ? undefined : rows.filter(row => row.id !== null).map(toMemory)
    },

    /** Notes what the session is given; false when that was noted before. */
    async give(sessionId: string, memoryIds: readonly string[]): Promise<boolean> {
      const text = 'insert into session_memories (session_id, memory_ids) values ($1, $2) on conflict do nothing'
      const { rowCount } = await pool.query({ name: 'give_memories', text, values: [sessionId, memoryIds] })
      if (rowCount === 1 && memoryIds.length === 0) without.set(sessionId, true)
      return rowCount === 1
    },
  }
}
