import type { Pool } from 'pg'
import { ownerLock } from '../../db/notifications.ts'
import type { Hold } from '../log/event-store.ts'
import { nextText, type QueuedPrompt } from '../queue/prompt-store.ts'
import { type RunRow, runColumns } from '../session-store.ts'

/** A lease just taken. `wasAbandoned`: the owner before did not hand it over. */
export interface TakenLease extends Hold {
  readonly wasAbandoned: boolean
  /** What to work on first; null when nothing can be worked on. */
  readonly first: QueuedPrompt | null
  readonly session: RunRow
}

/** Seconds that a lease lives without renewal, by the database clock. */
const lease = `interval '15 seconds'`

/** Without an owner no tool is at work. */
const sandboxAtRest = `case sandbox_status when 'running' then 'stopped' else sandbox_status end`

const isFree = (session: string) => `
  ${session}.deleted_at is null and (${session}.lease_until is null or ${session}.lease_until < clock_timestamp())`

const isDue = (session: string) => `${session}.due_at <= clock_timestamp()`

/** Takes those of `which`, which locks them. */
const takeText = (which: string) => `
  with ${which}
  update sessions s
  set fence = fence + 1, lease_owner = $2, lease_until = clock_timestamp() + ${lease}
  from before where s.id = before.id
  returning s.id as "sessionId", fence, before.lease_owner is not null as "wasAbandoned",
            (select row_to_json(next) from (${nextText('s.id')}) next) as first,
            (select row_to_json(run) from (select ${runColumns}) run) as session`

const takeOneText = takeText(`
  before as (select id, lease_owner from sessions s where id = $1 and ${isFree('s')} for update)`)

const takeHeardText = takeText(`
  before as (
    select s.id, s.lease_owner from unnest($1::text[]) with ordinality heard (id, place) join sessions s on s.id = heard.id
    where ${isFree('s')} and ${isDue('s')}
    order by heard.place limit $3 for update of s
  )`)

const takeOldestText = takeText(`
  cut_off as (
    select id, lease_owner from sessions s where lease_owner is not null and ${isFree('s')} and ${isDue('s')}
    order by due_at limit $1 for update skip locked
  ), others as (
    select id, lease_owner from sessions s where lease_owner is null and ${isFree('s')} and ${isDue('s')}
    order by due_at limit $1 - (select count(*) from cut_off) for update skip locked
  ), before as (
    select * from cut_off union all select * from others
  )`)

const renewText = `
  update sessions s set lease_until = clock_timestamp() + ${lease}
  from unnest($1::text[], $2::bigint[]) as held (id, fence)
  where s.id = held.id and s.fence = held.fence and s.lease_owner is not null and deleted_at is null
  returning s.id`

const handOverText = `
  update sessions
  set lease_owner = null, lease_until = null, sandbox_status = ${sandboxAtRest}, due_at = session_due(id)
  where id = $1 and fence = $2 and lease_owner is not null`

const hasWork = (session: string) => `coalesce(session_due(${session}) <= clock_timestamp(), false)`

// The function looks anew once the row is locked: a prompt that is stored in this very moment is not missed.
const releaseText = `
  with freed as (${handOverText} and not ${hasWork('id')} returning id)
  select not exists (select from freed) and ${hasWork('$1')} as has_work`

/** The lease columns of `sessions`: who runs a session, and until when. */
export type LeaseStore = ReturnType<typeof leaseStore>

export function leaseStore(pool: Pool) {
  const taken = async (name: string, text: string, values: readonly unknown[]): Promise<TakenLease[]> =>
    (await pool.query<TakenLease>({ name, text, values: [...values] })).rows

  return {
    /** Takes a free or expired lease under a new fence; undefined when another owner holds it, or nothing is there. */
    async take(sessionId: string, owner: string): Promise<TakenLease | undefined> {
      return (await taken('take_lease', takeOneText, [sessionId, owner]))[0]
    },

    /** Takes the first of these sessions that have work which nobody does, up to a limit. */
    takeHeard: (sessionIds: readonly string[], limit: number, owner: string): Promise<TakenLease[]> =>
      taken('take_heard', takeHeardText, [sessionIds, owner, limit]),

    /** Takes sessions with work that nobody does, first those that were cut off, then those that wait for the longest time. */
    takeOldest: (limit: number, owner: string): Promise<TakenLease[]> =>
      taken('take_oldest', takeOldestText, [limit, owner]),

    /** Renews all given leases; one that was just given back stays free. The ids of those still ours. */
    async renew(holds: readonly Hold[]): Promise<string[]> {
      const values = [holds.map(({ sessionId }) => sessionId), holds.map(({ fence }) => fence)]
      const { rows } = await pool.query<{ id: string }>({ name: 'renew_leases', text: renewText, values })
      return rows.map(({ id }) => id)
    },

    /**
     * Gives a lease back unless a prompt can be worked on; false when there is one.
     */
    async release({ sessionId, fence }: Hold): Promise<boolean> {
      const { rows } = await pool.query<{ has_work: boolean }>({
        name: 'release_lease',
        text: releaseText,
        values: [sessionId, fence],
      })
      return !rows[0]?.has_work
    },

    /** Gives a lease back, whatever waits. */
    async handOver({ sessionId, fence }: Hold): Promise<void> {
      await pool.query({ name: 'hand_over', text: handOverText, values: [sessionId, fence] })
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
  }
}
