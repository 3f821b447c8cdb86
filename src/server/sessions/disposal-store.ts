import type { Pool } from 'pg'
import type { ProviderRefs } from '../runtimes/runtime.ts'

/** A deleted session, with the ids that its runtime uses. */
export interface DeletedSession extends ProviderRefs {
  readonly id: string
  readonly runtime: string
}

const columns = 'id, runtime, runtime_agent_ref_id, provider_session_id, provider_run_id, runtime_state'

/** After this time the runtime is assumed to have removed the session itself. */
const cleanupPeriod = `interval '7 days'`

/** The columns of `sessions` that track the cleanup of deleted sessions at their runtimes. */
export type DisposalStore = ReturnType<typeof disposalStore>

export function disposalStore(pool: Pool) {
  return {
    /** Claims a deleted session for cleanup, by default the next due one. Retries back off from 1 min to 1 h. */
    async claim(id?: string): Promise<DeletedSession | undefined> {
      const text = `
        with due as (
          select id from sessions
          where deleted_at > clock_timestamp() - ${cleanupPeriod} and disposed_at is null
            and coalesce(dispose_after < clock_timestamp(), true) and ($1::text is null or id = $1)
          order by dispose_after nulls first limit 1 for update skip locked
        )
        update sessions s
        set dispose_after = clock_timestamp()
          + least(interval '1 hour', greatest(interval '1 minute', clock_timestamp() - deleted_at))
        from due where s.id = due.id
        returning ${columns.replaceAll(/\w+/g, 's.$&')}`
      const { rows } = await pool.query<DeletedSession>(text, [id])
      return rows[0]
    },

    async done(id: string): Promise<void> {
      await pool.query('update sessions set disposed_at = clock_timestamp() where id = $1', [id])
    },
  }
}
