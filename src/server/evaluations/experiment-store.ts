import type { Pool, PoolClient } from 'pg'
import type { Experiment, ExperimentCase, ExperimentCaseError } from '../../contract/experiments.ts'
import { parametersFor } from '../db/column-lists.ts'

type Queryable = Pool | PoolClient

/** An experiment to store. Amounts are US dollars. */
export type NewExperiment = Pick<
  Experiment,
  | 'id'
  | 'owner_id'
  | 'name'
  | 'dataset_id'
  | 'dataset_name'
  | 'agent_id'
  | 'agent_version'
  | 'model'
  | 'system'
  | 'replay'
  | 'max_parallel'
  | 'max_budget_usd'
  | 'case_budget_usd'
  | 'judge_budget_usd'
  | 'case_timeout_seconds'
> & { readonly principal: string; readonly key_id: string | null }

type Figures = 'cost_usd' | 'judge_cost_usd' | 'input_tokens' | 'output_tokens' | 'unpriced_calls' | 'score'

interface ExperimentRow
  extends Omit<Experiment, 'counts' | 'pass_rate' | 'created_at' | 'ended_at' | 'run_as_key_id' | Figures>,
    Pick<Experiment, Figures> {
  readonly key_id: string | null
  readonly counts: Omit<Experiment['counts'], 'total'>
  readonly total: number
  readonly created_at: Date
  readonly ended_at: Date | null
}

interface CaseRow extends Omit<ExperimentCase, 'error' | 'grades' | 'started_at' | 'ended_at'> {
  readonly position: number
  readonly error_type: ExperimentCaseError['type'] | null
  readonly error_message: string | null
  readonly grades: ExperimentCase['grades'] | null
  readonly started_at: Date | null
  readonly ended_at: Date | null
}

/** Result of a case, and its position in the experiment. */
export interface PlacedResult {
  readonly position: number
  readonly shown: ExperimentCase
}

interface PageOf {
  readonly after: string | undefined
  readonly limit: number
}

/** Filter of a list of experiments. */
export interface ExperimentFilter extends PageOf {
  readonly owner: string | undefined
  readonly datasetId: string | undefined
  readonly agentId: string | undefined
  readonly state: Experiment['state'] | undefined
}

/** Experiments that a kill switch stops; each field narrows the selection. */
export interface StopFilter {
  readonly owner: string | undefined
  readonly agent: string | undefined
  readonly keys: readonly string[] | undefined
}

const names = [
  'id',
  'owner_id',
  'principal',
  'key_id',
  'name',
  'dataset_id',
  'dataset_name',
  'agent_id',
  'agent_version',
  'model',
  'system',
  'replay',
  'max_parallel',
  'max_budget_usd',
  'case_budget_usd',
  'judge_budget_usd',
  'case_timeout_seconds',
] as const satisfies readonly (keyof NewExperiment)[]

const insertText = `
  insert into experiments (${names.join(', ')}, state)
  values (${parametersFor(names)}, 'running')`

const count = (state: string) => `count(*) filter (where c.state in (${state}))`

const shownExperiment = `
  select e.id, e.name, e.owner_id, e.key_id, e.dataset_id, e.dataset_name, e.agent_id, e.agent_version, e.model, e.system,
         e.replay, e.max_parallel, e.max_budget_usd::float8, e.case_budget_usd::float8, e.judge_budget_usd::float8,
         e.case_timeout_seconds, e.state, e.reason, e.created_at, e.ended_at, of_cases.*,
         (select sum(u.cost_usd)::float8 from usage u where u.session_id = e.id) as judge_cost_usd
  from experiments e cross join lateral (
    select count(*)::int as total,
           json_build_object(
             'waiting', ${count(`'waiting'`)}, 'running', ${count(`'running', 'grading'`)}, 'passed', ${count(`'passed'`)},
             'failed', ${count(`'failed'`)}, 'error', ${count(`'error'`)}, 'cancelled', ${count(`'cancelled'`)},
             'diverged', count(*) filter (where c.diverged)) as counts,
           avg(c.score) as score, sum(c.cost_usd)::float8 as cost_usd, coalesce(sum(c.unpriced_calls), 0)::float8 as unpriced_calls,
           coalesce(sum(c.input_tokens), 0)::float8 as input_tokens, coalesce(sum(c.output_tokens), 0)::float8 as output_tokens
    from experiment_cases c where c.experiment_id = e.id
  ) of_cases`

const shownCase = `
  select c.position, c.case_id, c.name, c.state, c.error_type, c.error_message, c.score, c.grades, c.answer, c.diverged,
         c.session_id, c.cost_usd::float8, c.unpriced_calls, c.input_tokens::float8, c.output_tokens::float8, c.duration_ms,
         c.started_at, c.ended_at
  from experiment_cases c`

function toExperiment(row: ExperimentRow): Experiment {
  const { key_id, total, counts, created_at, ended_at, ...shown } = row
  const { passed, failed, error } = counts
  const ended = passed + failed + error
  return {
    ...shown,
    counts: { total, ...counts },
    pass_rate: ended === 0 ? null : passed / ended,
    run_as_key_id: key_id,
    created_at: created_at.toISOString(),
    ended_at: ended_at?.toISOString() ?? null,
  }
}

function toResult({
  position,
  error_type,
  error_message,
  grades,
  started_at,
  ended_at,
  ...shown
}: CaseRow): PlacedResult {
  const error = error_type === null ? null : { type: error_type, message: error_message ?? '' }
  const times = { started_at: started_at?.toISOString() ?? null, ended_at: ended_at?.toISOString() ?? null }
  return { position, shown: { ...shown, error, grades: grades ?? [], ...times } }
}

/** Cancels the cases that wait, and marks those that run, whose sessions are then stopped. */
const cancelCasesText = `
  update experiment_cases set
    state = case when state = 'waiting' then 'cancelled' else state end,
    ended_at = case when state = 'waiting' then clock_timestamp() else ended_at end,
    stop_reason = case when state = 'running' then coalesce(stop_reason, 'cancelled') else stop_reason end
  where experiment_id = any ($1) and state in ('waiting', 'running')`

/** Tables `experiments` and `experiment_cases`, as callers see them. */
export type ExperimentStore = ReturnType<typeof experimentStore>

export function experimentStore(pool: Pool) {
  /** Returns the experiment; undefined when `owner` has none with that id. */
  async function find(id: string, owner: string | undefined, on: Queryable = pool): Promise<Experiment | undefined> {
    const text = `${shownExperiment} where e.id = $1 and ($2::text is null or e.owner_id = $2)`
    const [row] = (await on.query<ExperimentRow>(text, [id, owner])).rows
    return row && toExperiment(row)
  }

  return {
    find,

    async list({ owner, datasetId, agentId, state, after, limit }: ExperimentFilter): Promise<Experiment[]> {
      const text = `
        ${shownExperiment}
        where ($1::text is null or e.owner_id = $1) and ($2::text is null or e.id < $2) and ($3::text is null or e.dataset_id = $3)
          and ($4::text is null or e.agent_id = $4) and ($5::text is null or e.state = $5)
        order by e.id desc limit $6`
      const values = [owner, after, datasetId, agentId, state, limit]
      return (await pool.query<ExperimentRow>(text, values)).rows.map(toExperiment)
    },

    /** Returns the newest experiment before this one on the dataset that has ended. */
    async endedBefore(id: string, { datasetId, owner }: { datasetId: string; owner: string | undefined }) {
      const text = `
        select id from experiments
        where id < $1 and dataset_id = $2 and ($3::text is null or owner_id = $3) and state = 'done' order by id desc limit 1`
      return (await pool.query<{ id: string }>(text, [id, datasetId, owner])).rows[0]?.id
    },

    /** Stores an experiment with all cases that the dataset has now; returns their number. */
    async insert(on: PoolClient, given: NewExperiment): Promise<number> {
      await on.query(
        insertText,
        names.map(name => given[name]),
      )
      const text = `
        insert into experiment_cases (experiment_id, position, case_id, name, state, replay)
        select $1, position, id, name, 'waiting', $3 from dataset_cases where dataset_id = $2`
      return (await on.query(text, [given.id, given.dataset_id, given.replay])).rowCount ?? 0
    },

    /** Locks the experiment until the end of the transaction. Returns undefined when `owner` has none with that id. */
    async lock(on: PoolClient, id: string, owner: string | undefined): Promise<Experiment | undefined> {
      await on.query('select from experiments where id = $1 for update', [id])
      return find(id, owner, on)
    },

    /** Returns false when the experiment is not running. */
    async cancel(on: PoolClient, id: string, reason: string | null): Promise<boolean> {
      const text = `update experiments set state = 'cancelling', reason = $2 where id = $1 and state = 'running'`
      if ((await on.query(text, [id, reason])).rowCount === 0) return false
      await on.query(cancelCasesText, [[id]])
      return true
    },

    /** Cancels the running experiments that a kill switch stops; returns their number. */
    async cancelAll(on: PoolClient, { owner, agent, keys }: StopFilter, reason: string): Promise<number> {
      const text = `
        update experiments set state = 'cancelling', reason = $4
        where state = 'running' and ($1::text is null or owner_id = $1) and ($2::text is null or agent_id = $2)
          and ($3::text[] is null or key_id = any ($3)) returning id`
      const { rows } = await on.query<{ id: string }>(text, [owner, agent, keys, reason])
      if (rows.length > 0) await on.query(cancelCasesText, [rows.map(({ id }) => id)])
      return rows.length
    },

    async remove(on: PoolClient, id: string): Promise<void> {
      await on.query('delete from experiments where id = $1', [id])
    },

    /** Returns results in the order of the dataset. */
    async cases(id: string, { state, after, limit }: PageOf & { state: ExperimentCase['state'] | undefined }) {
      const text = `
        ${shownCase} where c.experiment_id = $1 and c.position > $2 and ($3::text is null or c.state = $3)
        order by c.position limit $4`
      return (await pool.query<CaseRow>(text, [id, Number(after ?? 0), state, limit])).rows.map(toResult)
    },
  }
}
