import type { Pool, PoolClient } from 'pg'
import type { ExperimentCaseError } from '../../contract/experiments.ts'
import type { Grade } from '../../contract/graders.ts'

/** What an experiment gives the session of a case. */
export interface RunningExperiment {
  readonly id: string
  readonly name: string
  readonly owner_id: string
  readonly principal: string
  readonly key_id: string | null
  readonly agent_id: string | null
  readonly agent_version: number | null
  readonly model: string | null
  readonly system: string | null
  readonly replay: boolean
}

/** A case that may start. */
export interface NextCase {
  readonly experiment: RunningExperiment
  readonly position: number
  readonly case_id: string
  readonly case_name: string
}

/** Money and sessions of an experiment. Amounts are US dollars. */
export interface Room {
  readonly max_parallel: number
  readonly max_budget_usd: number | null
  readonly case_budget_usd: number | null
  /** Sessions that run or are graded. */
  readonly open: number
  /** Spent by cases that have ended, and set aside for those that have not. */
  readonly used_usd: number
}

interface StartedCase {
  readonly session_id: string
  readonly budget_usd: number | undefined
}

/** A session to stop, and why. */
interface CaseToStop {
  readonly experiment_id: string
  readonly position: number
  readonly session_id: string
  readonly reason: StopReason
}

type StopReason = 'cancelled' | 'timed_out' | 'budget_reached' | 'approval_required'

/** A case whose session has ended, as claimed by a process. */
export interface EndedCase {
  readonly experiment_id: string
  readonly position: number
  readonly case_id: string
  readonly session_id: string
  readonly owner_id: string
  readonly principal: string
  readonly key_id: string | null
  readonly agent_id: string | null
  readonly stop_reason: StopReason | null
  /** The tool whose call asked last for an approval; null without such a call. */
  readonly asking_tool: string | null
  readonly case_timeout_seconds: number
  /** State of the first prompt that is not done; null when all are. */
  readonly prompt_state: 'error' | 'cancelled' | null
  /** The last prompt; null when the log was purged. */
  readonly prompt_id: string | null
  readonly run_id: string | null
}

/** Result of a case. */
export interface CaseResult {
  readonly state: 'passed' | 'failed' | 'error' | 'cancelled'
  readonly error?: ExperimentCaseError | undefined
  readonly score?: number | undefined
  readonly grades?: readonly Grade[] | undefined
  readonly answer?: string | undefined
}

/** Where a claim is. */
interface Claim {
  readonly experimentId: string
  readonly position: number
  readonly claim: string
}

const claimSeconds = 30
/** The ledger is written at most 100 ms after a call. */
const settleMs = 500

const isOpen = (session: string) => `exists (
  select from prompts p where p.session_id = ${session} and p.state in ('waiting', 'running'))`

/** A session with the sessions of the agents that it has called. */
const withCalled = (session: string) => `
  select ${session}::text union all select id from sessions where ancestors <> '{}' and ancestors @> array[${session}::text]`

/** Experiments that share the processes take turns. */
const nextText = `
  select e.id, e.name, e.owner_id, e.principal, e.key_id, e.agent_id, e.agent_version, e.model, e.system, e.replay,
         c.position, c.case_id, c.name as case_name
  from experiments e cross join lateral (
    select * from experiment_cases where experiment_id = e.id and state = 'waiting' order by position limit 1
  ) c
  where e.ended_at is null and e.state = 'running' and e.next_start_at <= clock_timestamp()
    and (select count(*) from experiment_cases where experiment_id = e.id and state in ('running', 'grading')) < e.max_parallel
  order by e.next_start_at limit 1`

/** A paused session waits for a budget of its own only when the case has used up its part. */
const toStopText = `
  select c.experiment_id, c.position, c.session_id, coalesce(c.stop_reason, why.reason) as reason
  from experiment_cases c join experiments e on e.id = c.experiment_id and e.ended_at is null
  cross join lateral (
    select case
      when exists (
        select from waits w where w.session_id = c.session_id and w.kind = 'budget' and w.scope = 'session' and w.scope_id = c.session_id
      ) then 'budget_reached'
      when exists (
        select from approvals a where a.state = 'pending' and a.session_id in (${withCalled('c.session_id')})
      ) then 'approval_required'
      when not exists (select from waits w where w.session_id = c.session_id and w.kind = 'freeze') and (
        select min(p.started_at) from prompts p where p.session_id = c.session_id
      ) < clock_timestamp() - e.case_timeout_seconds * interval '1 second' then 'timed_out' end as reason
  ) why
  where c.state = 'running' and coalesce(c.stop_reason, why.reason) is not null and ${isOpen('c.session_id')}
  limit 100`

const claimText = `
  with ready as (
    select c.experiment_id, c.position from experiment_cases c join experiments e on e.id = c.experiment_id and e.ended_at is null
    where c.state = 'grading' and c.claimed_until < clock_timestamp()
       or c.state = 'running' and not ${isOpen('c.session_id')} and not exists (
         select from prompts p where p.session_id = c.session_id
           and p.ended_at > clock_timestamp() - interval '${settleMs} milliseconds')
    limit $2 for update of c skip locked
  )
  update experiment_cases c
  set state = 'grading', claim = $1, claimed_until = clock_timestamp() + interval '${claimSeconds} seconds'
  from ready, experiments e
  where c.experiment_id = ready.experiment_id and c.position = ready.position and e.id = c.experiment_id
  returning c.experiment_id, c.position, c.case_id, c.session_id, c.stop_reason, e.owner_id, e.principal, e.key_id, e.agent_id,
    e.case_timeout_seconds,
    (select p.state from prompts p where p.session_id = c.session_id and p.state in ('error', 'cancelled') order by p.position limit 1)
      as prompt_state,
    (select a.name from approvals a where a.session_id in (${withCalled('c.session_id')}) order by a.created_at desc limit 1)
      as asking_tool,
    (select p.id from prompts p where p.session_id = c.session_id order by p.position desc limit 1) as prompt_id,
    (select p.run_id from prompts p where p.session_id = c.session_id order by p.position desc limit 1) as run_id`

/** The cost includes that of agents that the session has called. */
const finishText = `
  with used as (
    select sum(u.cost_usd) as cost_usd, count(*) filter (where u.cost_usd is null) as unpriced_calls,
           coalesce(sum(u.input_tokens + u.cache_read_tokens + u.cache_write_5m_tokens + u.cache_write_1h_tokens), 0) as input_tokens,
           coalesce(sum(u.output_tokens), 0) as output_tokens
    from usage u where u.session_id in (${withCalled('$9')})
  ), ran as (
    select extract(epoch from max(ended_at) - min(started_at)) * 1000 as duration_ms from prompts where session_id = $9::text
  )
  update experiment_cases c set
    state = $4, error_type = $5, error_message = $6, score = $7, grades = $8, answer = $10, claim = null, claimed_until = null,
    cost_usd = used.cost_usd, unpriced_calls = used.unpriced_calls, input_tokens = used.input_tokens,
    output_tokens = used.output_tokens, duration_ms = ran.duration_ms, ended_at = clock_timestamp()
  from used, ran
  where c.experiment_id = $1 and c.position = $2 and c.claim = $3`

const endText = `
  update experiments e set state = case e.state when 'cancelling' then 'cancelled' else 'done' end, ended_at = clock_timestamp()
  where e.ended_at is null and not exists (
    select from experiment_cases c where c.experiment_id = e.id and c.state in ('waiting', 'running', 'grading'))`

/** Tables `experiments` and `experiment_cases`, as the processes that run them see them. */
export type RunStore = ReturnType<typeof runStore>

export function runStore(pool: Pool) {
  return {
    /** Polled twice a second: one prepared statement, so that an idle service causes little load. */
    async isAnyOpen(): Promise<boolean> {
      const text = 'select exists (select from experiments where ended_at is null) as is_open'
      const { rows } = await pool.query<{ is_open: boolean }>({ name: 'open_experiments', text })
      return rows[0]?.is_open ?? false
    },

    /** Returns a case that may start now; other processes may start it first. */
    async next(): Promise<NextCase | undefined> {
      const { rows } = await pool.query<RunningExperiment & Omit<NextCase, 'experiment'>>({
        name: 'next_experiment_case',
        text: nextText,
      })
      const [row] = rows
      if (!row) return undefined
      const { position, case_id, case_name, ...experiment } = row
      return { experiment, position, case_id, case_name }
    },

    /** Starts no case of the experiment for `ms`, and then those of others first. */
    async postpone(on: Pool | PoolClient, id: string, ms: number): Promise<void> {
      const text = `update experiments set next_start_at = clock_timestamp() + $2 * interval '1 millisecond' where id = $1`
      await on.query(text, [id, ms])
    },

    /** Locks a case that waits, and its experiment. Returns undefined when the case must not start any more. */
    async lockNext(on: PoolClient, { experiment: { id }, position }: NextCase): Promise<Room | undefined> {
      const locked = await on.query(`select from experiments where id = $1 and state = 'running' for update`, [id])
      if (locked.rowCount === 0) return undefined
      const text = `
        select e.max_parallel, e.max_budget_usd::float8, e.case_budget_usd::float8, of_cases.*
        from experiments e cross join lateral (
          select count(*) filter (where state in ('running', 'grading'))::int as open,
                 coalesce(sum(case when state in ('running', 'grading') then budget_usd else cost_usd end), 0)::float8 as used_usd
          from experiment_cases where experiment_id = e.id
        ) of_cases
        where e.id = $1 and exists (
          select from experiment_cases where experiment_id = e.id and position = $2 and state = 'waiting')`
      return (await on.query<Room>(text, [id, position])).rows[0]
    },

    async start(on: PoolClient, next: NextCase, { session_id, budget_usd }: StartedCase): Promise<void> {
      const text = `
        update experiment_cases set state = 'running', session_id = $3, budget_usd = $4, started_at = clock_timestamp()
        where experiment_id = $1 and position = $2`
      await on.query(text, [next.experiment.id, next.position, session_id, budget_usd])
    },

    /** Ends a case without a session. */
    async reject(on: PoolClient, { experiment, position }: NextCase, error: ExperimentCaseError): Promise<void> {
      const text = `
        update experiment_cases set state = 'error', error_type = $3, error_message = $4, ended_at = clock_timestamp()
        where experiment_id = $1 and position = $2`
      await on.query(text, [experiment.id, position, error.type, error.message])
    },

    /** Ends all cases that wait, because the experiment has no money left for them. */
    async rejectAll(on: PoolClient, experimentId: string, error: ExperimentCaseError): Promise<void> {
      const text = `
        update experiment_cases set state = 'error', error_type = $2, error_message = $3, ended_at = clock_timestamp()
        where experiment_id = $1 and state = 'waiting'`
      await on.query(text, [experimentId, error.type, error.message])
    },

    /** Returns sessions that must stop, with a reason that was stored before or is new. */
    async toStop(): Promise<CaseToStop[]> {
      return (await pool.query<CaseToStop>({ name: 'experiment_cases_to_stop', text: toStopText })).rows
    },

    async setStopReason({ experiment_id, position, reason }: CaseToStop): Promise<void> {
      const text = `
        update experiment_cases set stop_reason = coalesce(stop_reason, $3)
        where experiment_id = $1 and position = $2 and state = 'running'`
      await pool.query(text, [experiment_id, position, reason])
    },

    /** Claims cases whose sessions have ended, or whose grading was interrupted. */
    async claimEnded(claim: string, limit: number): Promise<EndedCase[]> {
      const query = { name: 'claim_experiment_cases', text: claimText, values: [claim, limit] }
      return (await pool.query<EndedCase>(query)).rows
    },

    /** Returns false when another process has claimed the case. */
    async renew({ experimentId, position, claim }: Claim): Promise<boolean> {
      const text = `
        update experiment_cases set claimed_until = clock_timestamp() + interval '${claimSeconds} seconds'
        where experiment_id = $1 and position = $2 and claim = $3`
      return (await pool.query(text, [experimentId, position, claim])).rowCount === 1
    },

    /** Stores the result of a claimed case with the figures of its session. Returns false when another process has claimed it. */
    async finish({ experimentId, position, claim }: Claim, sessionId: string, result: CaseResult): Promise<boolean> {
      const { state, error, score, grades, answer } = result
      const ofError = [error?.type, error?.message]
      const values = [experimentId, position, claim, state, ...ofError, score, grades && JSON.stringify(grades)]
      return (await pool.query(finishText, [...values, sessionId, answer])).rowCount === 1
    },

    /** Ends the experiments whose cases have all ended. */
    async endFinished(): Promise<void> {
      await pool.query({ name: 'end_experiments', text: endText })
    },
  }
}
