import type { Pool } from 'pg'
import { ownerLock } from '../db/notifications.ts'
import type { Hold, Queryable } from './event-store.ts'
import { firstInLine, isHeld } from './prompt-store.ts'

/** A lease just taken. `wasAbandoned`: the owner before did not hand it over. */
export interface TakenLease extends Hold {
  readonly wasAbandoned: boolean
}

/** Seconds that a lease lives without renewal, by the database clock. */
const lease = `interval '15 seconds'`

/** Without an owner no tool is at work. */
const sandboxAtRest = `case sandbox_status when 'running' then 'stopped' else sandbox_status end`

const takeText = `
  with before as (select id, lease_owner from sessions where id = $1 for update)
  update sessions s
  set fence = fence + 1, lease_owner = $2, lease_until = clock_timestamp() + ${lease}
  from before
  where s.id = before.id and deleted_at is null and (lease_until is null or lease_until < clock_timestamp())
  returning s.id as "sessionId", fence, before.lease_owner is not null as "wasAbandoned"`

const renewText = `
  update sessions s set lease_until = clock_timestamp() + ${lease}
  from unnest($1::text[], $2::bigint[]) as held (id, fence)
  where s.id = held.id and s.fence = held.fence and s.lease_owner is not null and deleted_at is null
  returning s.id`

/** The lease columns of `sessions`: who runs a session, and until when. */
export type LeaseStore = ReturnType<typeof leaseStore>

export function leaseStore(pool: Pool) {
  return {
    /** Takes a free or expired lease under a new fence; undefined when another owner holds it, or nothing is there. */
    async take(sessionId: string, owner: string): Promise<TakenLease | undefined> {
      const { rows } = await pool.query<TakenLease>({ name: 'take_lease', text: takeText, values: [sessionId, owner] })
      return rows[0]
    },

    /** Renews all given leases; one that was just given back stays free. The ids of those still ours. */
    async renew(holds: readonly Hold[]): Promise<string[]> {
      const values = [holds.map(({ sessionId }) => sessionId), holds.map(({ fence }) => fence)]
      const { rows } = await pool.query<{ id: string }>({ name: 'renew_leases', text: renewText, values })
      return rows.map(({ id }) => id)
    },

    /** Gives a lease back, whatever waits. */
    async handOver({ sessionId, fence }: Hold, on: Queryable = pool): Promise<void> {
      const text = `
        update sessions
        set lease_owner = null, lease_until = null,
            sandbox_status = ${sandboxAtRest}
        where id = $1 and fence = $2 and lease_owner is not null`
      await on.query(text, [sessionId, fence])
    },

    /**
     * Ends the leases of owners whose process is gone, so that nobody has to wait for them to expire. A process that only
     * lost its connection goes on renewing: `silentForMs` spares leases that were renewed since. The owner's name stays
     * where a prompt was cut off: whoever takes that session must know.
     */
    async expireDeadOwners({ silentForMs }: { silentForMs: number }): Promise<number> {
      const live = 'select distinct lease_owner as owner from sessions where lease_owner is not null'
      const { rows } = await pool.query<{ owner: string }>(live)
      let expired = 0
      for (const { owner } of rows) {
        const { rowCount } = await pool.query(
          `update sessions s
           set lease_until = clock_timestamp(), sandbox_status = ${sandboxAtRest},
               lease_owner = case when exists (
                 select from prompts where session_id = s.id and state = 'running') then lease_owner end
           where lease_owner = $1 and lease_until <= clock_timestamp() + ${lease} - $2 * interval '1 millisecond'
             and pg_try_advisory_xact_lock(${ownerLock})`,
          [owner, silentForMs],
        )
        expired += rowCount ?? 0
      }
      return expired
    },

    /** Sessions with work that nobody does: first those that were cut off, then by their oldest prompt. */
    async unowned(limit: number): Promise<string[]> {
      const { rows } = await pool.query<{ id: string }>(
        `select s.id from sessions s join (
           select session_id, bool_or(state = 'running') as was_cut_off, min(created_at) as since
           from prompts where state in ('waiting', 'running') group by session_id
         ) work on work.session_id = s.id
         where s.deleted_at is null and (s.lease_until is null or s.lease_until < clock_timestamp())
           and not (${firstInLine(isHeld, 's.id')})
         order by was_cut_off desc, since limit $1`,
        [limit],
      )
      return rows.map(({ id }) => id)
    },
  }
}
