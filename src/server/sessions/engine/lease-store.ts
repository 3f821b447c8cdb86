import type { Pool } from 'pg'
import type { SessionEvent } from '../../../contract/events.ts'
import { ownerLock } from '../../db/notifications.ts'
import { newId } from '../../platform/ids.ts'
import { leaseSeconds } from '../lease-time.ts'
import { appended, type Lease } from '../log/event-store.ts'
import { nextText, type QueuedPrompt, takesPart } from '../queue/prompt-store.ts'
import { type RunRow, runColumns } from '../session-row.ts'

/** A lease that was just acquired. `wasAbandoned` means that the previous owner did not hand it over. */
export interface AcquiredLease extends Lease {
  readonly wasAbandoned: boolean
  /** The first prompt to run; null when no prompt can run. */
  readonly first: QueuedPrompt | null
  /** The logged start of the run of `first`; undefined when the run had started before, or nothing is to be run. */
  readonly begun: SessionEvent | undefined
  /** The session row before the run started. */
  readonly session: RunRow
  /** Prompts other than `first` run, or wait to join its turn. */
  readonly hasOthers: boolean
}

/** A row of `acquireText`. */
interface AcquiredRow extends Lease, Pick<AcquiredLease, 'wasAbandoned' | 'first' | 'session' | 'hasOthers'> {
  readonly begun_id: string | null
  readonly run_id: string
  readonly seq: number
  readonly created_at: Date
  readonly owner_id: string
}

const lease = `interval '${leaseSeconds} seconds'`

/** A session without an owner runs no tools. */
const idleSandbox = `case sandbox_status when 'running' then 'stopped' else sandbox_status end`

/** Seconds after the end of a wait during which only the process that keeps the session's program may acquire it. */
const warmSeconds = 60

/** `$2` is the acquiring process. */
const isFree = (session: string) => `
  ${session}.deleted_at is null and (${session}.lease_until is null or ${session}.lease_until < clock_timestamp())
  and (${session}.warm_owner is null or ${session}.warm_owner = $2
       or ${session}.due_at < clock_timestamp() - interval '${warmSeconds} seconds')`

const isDue = (session: string) => `${session}.due_at <= clock_timestamp()`

const payload = `format('{"prompt_id":%s,"run_id":%s}', to_json(begun.id)::text, to_json(begun.new_run)::text)`

/**
 * Acquires the sessions of `which`, which locks them, and starts the run of the first prompt of each: it marks the
 * prompt and logs the start, with run and event ids from the lists `runs` and `events`. Empty lists start nothing. A
 * prompt that was ended while the statement waited for the lock is not started.
 */
const acquireText = (which: string, [runs, events]: readonly [string, string]) => `
  with ${which}, next as materialized (
    select before.id as taken_id, next.id, next.state, row_to_json(next) as prompt, row_number() over () as place,
           exists (select from prompts p where p.session_id = before.id and p.id <> next.id and ${takesPart}) as has_others
    from before cross join lateral (${nextText('before.id')}) next
  ), begun as (
    update prompts p set state = 'running', run_id = (${runs}::text[])[place], started_at = clock_timestamp()
    from next
    where p.id = next.id and next.state = 'waiting' and p.state = 'waiting' and place <= cardinality(${runs}::text[])
    returning p.id, p.session_id, p.run_id as new_run, (${events}::text[])[place] as event_id
  ), freed as (
    delete from waits where prompt_id in (select id from begun)
  ), taken as (
    update sessions s
    set fence = fence + 1, lease_owner = $2, lease_until = clock_timestamp() + ${lease}, warm_owner = null,
        next_seq = next_seq + (begun.id is not null)::integer,
        log_bytes = log_bytes + case when begun.id is null then 0 else octet_length(${payload}) end
    from before left join begun on begun.session_id = before.id
    where s.id = before.id
    returning s.id, fence, before.lease_owner is not null as was_abandoned, next_seq - 1 as seq, s.owner_id,
              (select row_to_json(run) from (select ${runColumns}) run) as session
  ), said as (
    insert into session_events (session_id, seq, id, type, payload, bytes, fence)
    select taken.id, taken.seq, begun.event_id, 'session.status_running', ${payload}::json, octet_length(${payload}), taken.fence
    from taken join begun on begun.session_id = taken.id
    returning session_id, id, seq, created_at
  )
  select taken.id as "sessionId", taken.fence, was_abandoned as "wasAbandoned", session, taken.owner_id,
         said.id as begun_id, begun.new_run as run_id, said.seq, said.created_at,
         case when begun.id is not null or cardinality(${runs}::text[]) = 0 or next.state = 'running'
              then prompt end as first,
         coalesce(next.has_others, false) as "hasOthers"
  from taken left join next on next.taken_id = taken.id
    left join begun on begun.session_id = taken.id left join said on said.session_id = taken.id`

const acquireOneText = acquireText(
  `before as (select id, lease_owner from sessions s where id = $1 and ${isFree('s')} for update)`,
  ['$3', '$4'],
)

const acquireNotifiedText = acquireText(
  `before as (
    select s.id, s.lease_owner from unnest($1::text[]) with ordinality notified (id, place) join sessions s on s.id = notified.id
    where ${isFree('s')} and ${isDue('s')}
    order by notified.place limit $3 for update of s
  )`,
  ['$4', '$5'],
)

const acquireOldestText = acquireText(
  `cut_off as (
    select id, lease_owner from sessions s where lease_owner is not null and ${isFree('s')} and ${isDue('s')}
    order by due_at limit $1 for update skip locked
  ), others as (
    select id, lease_owner from sessions s where lease_owner is null and ${isFree('s')} and ${isDue('s')}
    order by due_at limit $1 - (select count(*) from cut_off) for update skip locked
  ), before as (
    select * from cut_off union all select * from others
  )`,
  ['$3', '$4'],
)

const renewText = `
  update sessions s set lease_until = clock_timestamp() + ${lease}
  from unnest($1::text[], $2::bigint[]) as leased (id, fence)
  where s.id = leased.id and s.fence = leased.fence and s.lease_owner is not null and deleted_at is null
  returning s.id`

/** The program of a session keeps running, so its sandbox stays in use. */
const releaseWarmText = `
  update sessions s set lease_owner = null, lease_until = null, warm_owner = $3, due_at = session_due(s.id)
  from unnest($1::text[], $2::bigint[]) as leased (id, fence)
  where s.id = leased.id and s.fence = leased.fence and s.lease_owner is not null and deleted_at is null
  returning s.id`

const endWarmText = `
  update sessions set warm_owner = null, sandbox_status = ${idleSandbox} where id = any ($1::text[]) and warm_owner = $2`

const handOverText = `
  update sessions
  set lease_owner = null, lease_until = null, sandbox_status = ${idleSandbox}, due_at = session_due(id)
  where id = $1 and fence = $2 and lease_owner is not null`

const hasWork = (session: string) => `coalesce(session_due(${session}) <= clock_timestamp(), false)`

// The function reads again after the row is locked, so a prompt that is stored concurrently is not missed.
const releaseText = `
  with freed as (${handOverText} and not ${hasWork('id')} returning id)
  select not exists (select from freed) and ${hasWork('$1')} as has_work`

interface Taking {
  readonly text: string
  readonly values: readonly unknown[]
  /** Maximum number of runs to start. */
  readonly runs: number
}

/** The lease columns of `sessions`: which process runs a session, and until when. */
export type LeaseStore = ReturnType<typeof leaseStore>

export function leaseStore(pool: Pool) {
  const acquired = async (name: string, { text, values, runs }: Taking): Promise<AcquiredLease[]> => {
    const names = (prefix: 'run' | 'evt') => Array.from({ length: runs }, () => newId(prefix))
    const query = { name, text, values: [...values, names('run'), names('evt')] }
    return (await pool.query<AcquiredRow>(query)).rows.map(leaseOf)
  }

  /** Notifies all processes of the started run. */
  const leaseOf = ({ sessionId, fence, wasAbandoned, session, hasOthers, ...row }: AcquiredRow): AcquiredLease => {
    const { first, begun_id: id, run_id } = row
    if (id === null || !first) return { sessionId, fence, wasAbandoned, session, hasOthers, first, begun: undefined }
    const named = { id, type: 'session.status_running', payload: { prompt_id: first.id, run_id } }
    const [begun] = appended(pool, sessionId, [named], [row]) ?? []
    const before = { ...session, next_seq: session.next_seq - 1 }
    return { sessionId, fence, wasAbandoned, session: before, hasOthers, first: { ...first, run_id }, begun }
  }

  return {
    /**
     * Acquires a free or expired lease under a new fence. Returns undefined when another owner has it, or it does not
     * exist.
     */
    async acquire(sessionId: string, owner: string, runs = 1): Promise<AcquiredLease | undefined> {
      return (await acquired('take_lease', { text: acquireOneText, values: [sessionId, owner], runs }))[0]
    },

    /** Acquires up to `limit` of these sessions, in order, that have work and no owner. */
    acquireNotified: (sessionIds: readonly string[], limit: number, owner: string): Promise<AcquiredLease[]> =>
      acquired('take_heard', { text: acquireNotifiedText, values: [sessionIds, owner, limit], runs: limit }),

    /** Acquires sessions that have work and no owner: interrupted ones first, then the longest waiting. */
    acquireOldest: (limit: number, owner: string): Promise<AcquiredLease[]> =>
      acquired('take_oldest', { text: acquireOldestText, values: [limit, owner], runs: limit }),

    /** Renews the given leases; a released lease stays free. Returns the ids of those that this process still owns. */
    async renew(leases: readonly Lease[]): Promise<string[]> {
      const values = [leases.map(({ sessionId }) => sessionId), leases.map(({ fence }) => fence)]
      const { rows } = await pool.query<{ id: string }>({ name: 'renew_leases', text: renewText, values })
      return rows.map(({ id }) => id)
    },

    /** Releases a lease unless a prompt can run; returns false in that case. */
    async release({ sessionId, fence }: Lease): Promise<boolean> {
      const { rows } = await pool.query<{ has_work: boolean }>({
        name: 'release_lease',
        text: releaseText,
        values: [sessionId, fence],
      })
      return !rows[0]?.has_work
    },

    /**
     * Releases the leases of sessions whose runs wait for approval, but reserves the sessions for `owner`, which keeps
     * their programs. Returns the ids of those that it still owned.
     */
    async releaseWarm(leases: readonly Lease[], owner: string): Promise<string[]> {
      const values = [leases.map(({ sessionId }) => sessionId), leases.map(({ fence }) => fence), owner]
      const { rows } = await pool.query<{ id: string }>({ name: 'rest_leases', text: releaseWarmText, values })
      return rows.map(({ id }) => id)
    },

    /** Ends the reservation of these sessions, because their programs have ended. */
    async endWarm(sessionIds: readonly string[], owner: string): Promise<void> {
      await pool.query(endWarmText, [sessionIds, owner])
    },

    /** Releases a lease unconditionally. */
    async handOver({ sessionId, fence }: Lease): Promise<void> {
      await pool.query({ name: 'hand_over', text: handOverText, values: [sessionId, fence] })
    },

    /** Releases the lease that `owner` may have acquired without learning of it. */
    async disown(sessionId: string, owner: string): Promise<void> {
      const text = `
        update sessions
        set lease_owner = null, lease_until = null, sandbox_status = ${idleSandbox}, due_at = session_due(id)
        where id = $1 and lease_owner = $2`
      await pool.query(text, [sessionId, owner])
    },

    /**
     * Expires the leases of owners whose process has exited, so that other processes need not wait. A process that only
     * lost its connection still renews: leases renewed within `silentForMs` are spared. Where a prompt was interrupted,
     * the row keeps the name of the owner, by which the next owner recognises the interruption.
     */
    async expireDeadOwners({ silentForMs }: { silentForMs: number }): Promise<number> {
      const live = `
        select lease_owner as owner from sessions where lease_owner is not null
        union select warm_owner from sessions where warm_owner is not null`
      const { rows } = await pool.query<{ owner: string }>(live)
      let expired = 0
      for (const { owner } of rows) {
        const { rowCount } = await pool.query(
          `with cooled as (
             update sessions set warm_owner = null, sandbox_status = ${idleSandbox}
             where warm_owner = $1 and pg_try_advisory_xact_lock(${ownerLock})
           )
           update sessions s
           set lease_until = clock_timestamp(), sandbox_status = ${idleSandbox},
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
