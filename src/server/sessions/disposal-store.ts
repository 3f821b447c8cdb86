import type { Pool } from 'pg'
import type { ProviderRefs } from '../runtimes/runtime.ts'

/** A session that was deleted, as its runtime knows it. */
export interface Remains extends ProviderRefs {
  readonly id: string
  readonly runtime: string
}

const shown = 'id, runtime, runtime_agent_ref_id, provider_session_id, provider_run_id, runtime_state'

/** After this a runtime is taken to have let go by itself. */
const givenUpAfter = `interval '7 days'`

/** The columns of `sessions` that say what is left to remove of deleted ones. */
export type DisposalStore = ReturnType<typeof disposalStore>

export function disposalStore(pool: Pool) {
  return {
    /** Claims a deleted session; each claim lasts as long again as all before, 1 min to 1 h. Undefined: it is not due. */
    async claim(id?: string): Promise<Remains | undefined> {
      const text = `
        with due as (
          select id from sessions
          where deleted_at > clock_timestamp() - ${givenUpAfter} and disposed_at is null
            and coalesce(dispose_after < clock_timestamp(), true) and ($1::text is null or id = $1)
          order by dispose_after nulls first limit 1 for update skip locked
        )
        update sessions s
        set dispose_after = clock_timestamp()
          + least(interval '1 hour', greatest(interval '1 minute', clock_timestamp() - deleted_at))
        from due where s.id = due.id
        returning ${shown.replaceAll(/\w+/g, 's.$&')}`
      const { rows } = await pool.query<Remains>(text, [id])
      return rows[0]
    },

    async done(id: string): Promise<void> {
      await pool.query('update sessions set disposed_at = clock_timestamp() where id = $1', [id])
    },
  }
}
