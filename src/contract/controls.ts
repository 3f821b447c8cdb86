import { type Static, Type } from 'typebox'
import { named } from './named.ts'
import { route } from './route.ts'
import { DateTime, NextCursor, Nullable, pageQuery } from './schemas.ts'

const Id = Type.String({ minLength: 1, maxLength: 200 })
const Reason = Type.Optional(
  Type.String({
    minLength: 1,
    maxLength: 1000,
    pattern: '\\S',
    description: 'Reason shown to callers whose work is stopped',
  }),
)
const All = Type.Optional(Type.Literal(true))

const CostPerMinute = Nullable(
  Type.Number({
    description: 'US dollars of the model calls that ended in the last 60 s; null when none of them has a known price',
  }),
)
const CallsPerMinute = Type.Integer({ description: 'Model calls that ended in the last 60 s' })

/** Totals of everything that runs. */
export const runningTotals = {
  running_sessions: Type.Integer({ description: 'Number of all running sessions, not only those of `sessions`' }),
  calls_per_minute: CallsPerMinute,
  cost_per_minute: CostPerMinute,
}

/** A session whose prompt is running. */
export const RunningSession = named(
  'RunningSession',
  Type.Object({
    session_id: Type.String(),
    title: Type.String(),
    agent_id: Type.String(),
    owner_id: Type.String(),
    key_id: Nullable(Type.String({ description: 'Key that queued the prompt; null for the master key' })),
    runtime: Type.String(),
    prompt_id: Type.String(),
    run_id: Nullable(Type.String()),
    started_at: Nullable(DateTime),
    held_by: Nullable(
      Type.String({ description: 'Reason why the run waits: `approval`, `custom_tool`, `subagent` or `retry`' }),
    ),
    waiting_prompts: Type.Integer({ description: 'Prompts queued behind it' }),
    calls_per_minute: CallsPerMinute,
    cost_per_minute: CostPerMinute,
  }),
)
export type RunningSession = Static<typeof RunningSession>

/** Spending of a key, by sessions and by direct calls. */
export const SpendingKey = named(
  'SpendingKey',
  Type.Object({
    key_id: Nullable(Type.String({ description: 'null: the master key' })),
    owner_id: Nullable(Type.String()),
    calls_per_minute: CallsPerMinute,
    cost_per_minute: CostPerMinute,
  }),
)
export type SpendingKey = Static<typeof SpendingKey>

/** Work to stop: exactly one of these. */
export const StopRequest = named(
  'StopRequest',
  Type.Object({
    session_id: Type.Optional(Id),
    agent_id: Type.Optional(Id),
    key_id: Type.Optional(Id),
    owner: Type.Optional(Id),
    all: All,
    reason: Reason,
  }),
)
export type StopRequest = Static<typeof StopRequest>

/** Spending to freeze: exactly one of these. */
export const FreezeWrite = named(
  'FreezeWrite',
  Type.Object({
    key_id: Type.Optional(Id),
    owner: Type.Optional(Id),
    all: All,
    reason: Reason,
  }),
)
export type FreezeWrite = Static<typeof FreezeWrite>

export const Freeze = named(
  'Freeze',
  Type.Object({
    id: Type.String(),
    scope: Type.Union([Type.Literal('key'), Type.Literal('owner'), Type.Literal('all')]),
    scope_id: Nullable(Type.String({ description: 'Id of the key, or the owner; null for `all`' })),
    reason: Nullable(Type.String()),
    created_by: Type.String({ description: 'Principal' }),
    created_at: DateTime,
  }),
)
export type Freeze = Static<typeof Freeze>

const FreezePath = Type.Object({ freeze_id: Type.String() })
const base = { errorShape: 'nested' } as const

export const controlRoutes = {
  running: route({
    ...base,
    id: 'controls.running',
    method: 'GET',
    path: '/v1/running',
    access: 'key',
    query: Type.Object(pageQuery),
    responses: {
      200: Type.Object({
        ...runningTotals,
        sessions: Type.Array(RunningSession),
        keys: Type.Array(SpendingKey, { description: 'The 100 keys with the highest cost per minute' }),
        next_cursor: NextCursor,
      }),
    },
    summary: 'List what runs',
    description:
      'Lists running sessions and keys with their cost per minute. A key with an owner sees only that owner.',
  }),
  stop: route({
    ...base,
    id: 'controls.stop',
    method: 'POST',
    path: '/v1/stop',
    access: 'key',
    body: StopRequest,
    responses: {
      200: Type.Object({
        sessions: Type.Integer({ description: 'Sessions with a run or a waiting prompt' }),
        runs: Type.Integer({ description: 'Runs that were interrupted; each ends within 2 s' }),
        prompts: Type.Integer({ description: 'Waiting prompts that were cancelled' }),
      }),
    },
    summary: 'Stop runs',
    description:
      'Stops the run of a session, or all runs of an agent, a key, an owner or the whole service, and cancels the prompts queued behind them. Model calls of clients end too, and background responses, batches and experiments are cancelled.',
  }),
  freezes: route({
    ...base,
    id: 'controls.freezes',
    method: 'GET',
    path: '/v1/freezes',
    access: 'admin',
    query: Type.Object(pageQuery),
    responses: { 200: Type.Object({ freezes: Type.Array(Freeze), next_cursor: NextCursor }) },
    summary: 'List freezes',
    description: 'Lists the freezes in force, newest first.',
  }),
  freeze: route({
    ...base,
    id: 'controls.freeze',
    method: 'PUT',
    path: '/v1/freezes',
    access: 'admin',
    body: FreezeWrite,
    responses: { 200: Freeze },
    summary: 'Freeze spending',
    description:
      'Rejects new model calls and runs of a key with its descendants, of an owner, or of the whole service, until the freeze is lifted.',
  }),
  unfreeze: route({
    ...base,
    id: 'controls.unfreeze',
    method: 'DELETE',
    path: '/v1/freezes/{freeze_id}',
    access: 'admin',
    params: FreezePath,
    responses: { 204: null },
    summary: 'Lift a freeze',
    description: 'Lifts a freeze. Prompts that waited for it continue.',
  }),
}
