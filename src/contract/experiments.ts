import { type Static, Type } from 'typebox'
import { AgentFieldChange, maxPromptLength } from './agents.ts'
import { Grade } from './graders.ts'
import { named } from './named.ts'
import { route } from './route.ts'
import { Name, NextCursor, Nullable, pageQuery, Usd, VersionNumber } from './schemas.ts'

const Time = Type.String({ format: 'date-time' })

const ExperimentState = named(
  'ExperimentState',
  Type.Union([Type.Literal('running'), Type.Literal('cancelling'), Type.Literal('done'), Type.Literal('cancelled')]),
)

const CaseState = named(
  'ExperimentCaseState',
  Type.Union(
    [
      Type.Literal('waiting'),
      Type.Literal('running'),
      Type.Literal('grading'),
      Type.Literal('passed'),
      Type.Literal('failed'),
      Type.Literal('error'),
      Type.Literal('cancelled'),
    ],
    {
      description:
        '`passed`: all graders passed; `failed`: a grader did not; `error`: the session or a grader did not come to a result',
    },
  ),
)

const CaseCounts = named(
  'ExperimentCounts',
  Type.Object({
    total: Type.Integer(),
    waiting: Type.Integer(),
    running: Type.Integer({ description: 'Running or being graded' }),
    passed: Type.Integer(),
    failed: Type.Integer(),
    error: Type.Integer(),
    cancelled: Type.Integer(),
    diverged: Type.Integer({ description: 'Cases of a replay with a call that has no recorded result' }),
  }),
)

const MaxParallel = Type.Integer({ minimum: 1, maximum: 100 })
const Seconds = Type.Integer({ minimum: 10, maximum: 86_400 })
const figures = {
  cost_usd: Nullable(Usd, 'Cost of the sessions; null while no call was priced'),
  input_tokens: Type.Number(),
  output_tokens: Type.Number(),
  unpriced_calls: Type.Integer({ description: 'Model calls without a known price, which `cost_usd` does not include' }),
}

/** Agent version or model that runs on all cases of a dataset. */
export const Experiment = named(
  'Experiment',
  Type.Object({
    id: Type.String(),
    name: Type.String(),
    owner_id: Type.String(),
    dataset_id: Type.String(),
    dataset_name: Type.String({ description: 'As of the start' }),
    agent_id: Nullable(Type.String(), 'null: the model without an agent'),
    agent_version: Nullable(Type.Integer()),
    model: Nullable(Type.String(), 'null: the model of the agent'),
    system: Nullable(Type.String(), 'System prompt of a model without an agent'),
    replay: Type.Boolean(),
    max_parallel: Type.Integer(),
    max_budget_usd: Nullable(Usd),
    case_budget_usd: Nullable(Usd),
    judge_budget_usd: Nullable(Usd),
    case_timeout_seconds: Type.Integer(),
    state: ExperimentState,
    reason: Nullable(Type.String({ description: 'Why it was cancelled' })),
    counts: CaseCounts,
    pass_rate: Nullable(Type.Number(), 'Passed cases divided by all cases that have ended; null before the first'),
    score: Nullable(Type.Number(), 'Mean score of the graded cases'),
    ...figures,
    judge_cost_usd: Nullable(Usd, 'Cost of the judges'),
    run_as_key_id: Nullable(
      Type.String({ description: 'Key under which it runs; null for the master key or an unlimited admin key' }),
    ),
    created_at: Time,
    ended_at: Nullable(Time),
  }),
)
export type Experiment = Static<typeof Experiment>

const CaseError = named(
  'ExperimentCaseError',
  Type.Object({
    type: Type.Union([
      Type.Literal('case_deleted'),
      Type.Literal('not_started'),
      Type.Literal('session_failed'),
      Type.Literal('stopped'),
      Type.Literal('timed_out'),
      Type.Literal('budget_reached'),
      Type.Literal('approval_required'),
      Type.Literal('grader_error'),
    ]),
    message: Type.String(),
  }),
)
export type ExperimentCaseError = Static<typeof CaseError>

/** Result of one case in an experiment. */
export const ExperimentCase = named(
  'ExperimentCase',
  Type.Object({
    case_id: Type.String(),
    name: Type.String(),
    state: CaseState,
    error: Nullable(CaseError),
    score: Nullable(Type.Number(), 'Mean score of its graders; 1 without graders'),
    grades: Type.Array(Grade),
    answer: Nullable(Type.String(), 'Last answer, cut to 10,000 characters'),
    diverged: Type.Boolean({ description: 'A call of its replay had no recorded result' }),
    session_id: Nullable(Type.String()),
    ...figures,
    duration_ms: Nullable(Type.Number(), 'From the start of the first prompt to the end of the last one'),
    started_at: Nullable(Time),
    ended_at: Nullable(Time),
  }),
)
export type ExperimentCase = Static<typeof ExperimentCase>

const ExperimentCreate = named(
  'ExperimentCreate',
  Type.Object({
    dataset_id: Type.String({ minLength: 1, maxLength: 200 }),
    name: Type.Optional({ ...Name, description: 'Default: the names of agent or model and dataset' }),
    agent_id: Type.Optional(Type.String({ minLength: 1, maxLength: 200 })),
    agent_version: Type.Optional(VersionNumber('Version to run; the pinned one, else the current one by default')),
    model: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 200,
        description: 'Replaces the model of the agent; without `agent_id` the model runs alone, without tools',
      }),
    ),
    system: Type.Optional(
      Type.String({ maxLength: maxPromptLength, description: 'System prompt of a model without an agent' }),
    ),
    replay: Type.Optional(
      Type.Boolean({
        default: false,
        description: 'Recorded results answer all tool calls, and nothing but the model is called',
      }),
    ),
    max_parallel: Type.Optional({ ...MaxParallel, default: 10, description: 'Sessions at a time' }),
    max_budget_usd: Type.Optional({ ...Usd, description: 'What all sessions together may cost' }),
    case_budget_usd: Type.Optional({
      ...Usd,
      description: 'What one session may cost; by default `max_budget_usd` divided by `max_parallel`',
    }),
    judge_budget_usd: Type.Optional({ ...Usd, description: 'What all judges together may cost' }),
    case_timeout_seconds: Type.Optional({
      ...Seconds,
      default: 900,
      description: 'Time from the start of the first prompt after which a session is stopped',
    }),
  }),
)
export type ExperimentCreate = Static<typeof ExperimentCreate>

const Change = named(
  'CaseChange',
  Type.Union(
    [
      Type.Literal('worse'),
      Type.Literal('better'),
      Type.Literal('same'),
      Type.Literal('only_in_base'),
      Type.Literal('only_in_other'),
    ],
    { description: '`worse`: passed before and not now; `better`: passes now and did not before' },
  ),
)

const side = {
  state: CaseState,
  score: Nullable(Type.Number()),
  cost_usd: Nullable(Usd),
  duration_ms: Nullable(Type.Number()),
  session_id: Nullable(Type.String()),
}

const CaseComparison = named(
  'CaseComparison',
  Type.Object({
    case_id: Type.String(),
    name: Type.String(),
    change: Change,
    base: Nullable(Type.Object(side), 'The experiment of `with`'),
    other: Nullable(Type.Object(side), 'The experiment of the path'),
    score_change: Nullable(Type.Number()),
    cost_change_usd: Nullable(Type.Number()),
    duration_change_ms: Nullable(Type.Number()),
  }),
)
export type CaseComparison = Static<typeof CaseComparison>

/** Two experiments, case by case. */
export const ExperimentComparison = named(
  'ExperimentComparison',
  Type.Object({
    base: Experiment,
    other: Experiment,
    totals: Type.Object({
      worse: Type.Integer(),
      better: Type.Integer(),
      same: Type.Integer(),
      only_in_base: Type.Integer(),
      only_in_other: Type.Integer(),
      pass_rate_change: Nullable(Type.Number()),
      score_change: Nullable(Type.Number()),
      cost_change_usd: Nullable(Type.Number()),
      duration_change_ms: Nullable(Type.Number(), 'Of the cases that both have'),
    }),
    agent_changes: Nullable(
      Type.Array(AgentFieldChange),
      'What differs between the agent versions; null unless both ran versions of the same agent that the caller may read',
    ),
    cases: Type.Array(CaseComparison, { description: 'Worse cases first, then better ones' }),
  }),
)
export type ExperimentComparison = Static<typeof ExperimentComparison>

const ExperimentPath = Type.Object({ experiment_id: Type.String() })
const base = { access: 'key', errorShape: 'nested' } as const

export const experimentRoutes = {
  list: route({
    ...base,
    id: 'experiments.list',
    method: 'GET',
    path: '/api/experiments',
    query: Type.Object({
      ...pageQuery,
      dataset_id: Type.Optional(Type.String({ maxLength: 200 })),
      agent_id: Type.Optional(Type.String({ maxLength: 200 })),
      state: Type.Optional(ExperimentState),
    }),
    responses: { 200: Type.Object({ experiments: Type.Array(Experiment), next_cursor: NextCursor }) },
    summary: 'List experiments',
    description: 'Lists experiments with their totals, newest first.',
  }),
  create: route({
    ...base,
    id: 'experiments.create',
    method: 'POST',
    path: '/api/experiments',
    body: ExperimentCreate,
    responses: { 201: Experiment },
    summary: 'Run an experiment',
    description:
      'Runs an agent version, or a model, on all cases that the dataset has now: one ordinary session a case, `max_parallel` at a time, under the key of the caller. A case that fails, hangs or reaches its budget stops no other. ' +
      'It survives restarts, and any process continues it. With `replay` every case must have a recording, and the runtime must support it (`replay` in its capabilities).',
  }),
  get: route({
    ...base,
    id: 'experiments.get',
    method: 'GET',
    path: '/api/experiments/{experiment_id}',
    params: ExperimentPath,
    responses: { 200: Experiment },
    summary: 'Read an experiment',
    description: 'Returns state, counts and totals of an experiment.',
  }),
  cases: route({
    ...base,
    id: 'experiments.cases',
    method: 'GET',
    path: '/api/experiments/{experiment_id}/cases',
    params: ExperimentPath,
    query: Type.Object({ ...pageQuery, state: Type.Optional(CaseState) }),
    responses: { 200: Type.Object({ cases: Type.Array(ExperimentCase), next_cursor: NextCursor }) },
    summary: 'List the results of an experiment',
    description: 'Lists the cases of an experiment in the order of the dataset; `state` filters.',
  }),
  cancel: route({
    ...base,
    id: 'experiments.cancel',
    method: 'POST',
    path: '/api/experiments/{experiment_id}/cancel',
    params: ExperimentPath,
    responses: { 200: Experiment },
    summary: 'Cancel an experiment',
    description:
      'Cancels the cases that wait and stops the sessions that run. Results so far stay. Answers the same once the experiment has ended.',
  }),
  compare: route({
    ...base,
    id: 'experiments.compare',
    method: 'GET',
    path: '/api/experiments/{experiment_id}/compare',
    params: ExperimentPath,
    query: Type.Object({
      with: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: 200,
          description:
            'Id of the experiment to compare with, the base; by default the last one before it on the same dataset that has ended',
        }),
      ),
    }),
    responses: { 200: ExperimentComparison },
    summary: 'Compare two experiments',
    description:
      'Compares an experiment with an earlier one of the same dataset, case by case: what got worse or better, differences of score, cost and time, and what changed between the agent versions. Cases are matched by their id. Differences are this experiment minus the base.',
  }),
  remove: route({
    ...base,
    id: 'experiments.remove',
    method: 'DELETE',
    path: '/api/experiments/{experiment_id}',
    params: ExperimentPath,
    responses: { 204: null },
    summary: 'Delete an experiment',
    description:
      'Deletes an experiment with its results. Its sessions stay; those of a replay take no more prompts. An experiment that runs must be cancelled first (409).',
  }),
}
