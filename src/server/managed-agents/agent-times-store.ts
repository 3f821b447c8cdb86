import type { Pool } from 'pg'
import type { AgentTimes } from './agent-object.ts'

interface Row extends AgentTimes {
  readonly id: string
}

/** The current version is the last change. An agent is archived since the first of its trailing archived versions. */
const text = `
  select a.id, coalesce(current.created_at, a.created_at) as updated_at,
         case when a.status = 'archived' then (
           select min(v.created_at) from agent_versions v
           where v.agent_id = a.id and v.version > coalesce((
             select max(w.version) from agent_versions w
             where w.agent_id = a.id and w.snapshot ->> 'status' <> 'archived'), 0)) end as archived_at
  from agents a left join agent_versions current on current.agent_id = a.id and current.version = a.version
  where a.id = any ($1)`

/** Reads from `agent_versions` when agents were changed. */
export type AgentTimesStore = ReturnType<typeof agentTimesStore>

export function agentTimesStore(pool: Pool) {
  return {
    /** Returns the times by agent id; deleted agents are absent. */
    async of(ids: readonly string[]): Promise<ReadonlyMap<string, AgentTimes>> {
      if (ids.length === 0) return new Map()
      const { rows } = await pool.query<Row>(text, [ids])
      return new Map(rows.map(({ id, updated_at, archived_at }) => [id, { updated_at, archived_at }]))
    },
  }
}
