import { type Static, Type } from 'typebox'
import { maxPromptLength } from './agents.ts'
import { named } from './named.ts'
import { route } from './route.ts'
import { Name, NextCursor, Nullable, pageQuery } from './schemas.ts'

const Time = Type.String({ format: 'date-time' })

const Overlap = named(
  'ScheduleOverlap',
  Type.Union([Type.Literal('skip'), Type.Literal('queue'), Type.Literal('allow')], {
    description: 'When the previous run has not ended: skip the run, queue it, or run both',
  }),
)
const Missed = named(
  'ScheduleMissed',
  Type.Union([Type.Literal('skip'), Type.Literal('once'), Type.Literal('all')], {
    description:
      'Runs that were due while no server was running: skip them, run the last one, or run all, up to `missed_limit`',
  }),
)
const SessionUse = named(
  'ScheduleSessionUse',
  Type.Union([Type.Literal('new'), Type.Literal('same')], {
    description: 'A new session for each run, or the same session for all runs',
  }),
)
const ScheduleStatus = named('ScheduleStatus', Type.Union([Type.Literal('active'), Type.Literal('paused')]))
const MissedLimit = Type.Integer({ minimum: 1, maximum: 100 })
const Cron = Type.String({
  maxLength: 200,
  description: 'Minute, hour, day of the month, month, day of the week: `30 9 * * MON-FRI`',
})
const Timezone = Type.String({ maxLength: 100, description: 'IANA time zone name, such as Europe/Berlin' })
const PromptText = Type.String({ maxLength: maxPromptLength, pattern: '\\S' })

/** Prompt that an agent receives at certain times. */
export const Schedule = named(
  'Schedule',
  Type.Object({
    id: Type.String(),
    name: Type.String(),
    owner_id: Type.String(),
    agent_id: Type.String(),
    cron: Type.String(),
    timezone: Type.String(),
    prompt: Type.String(),
    session: SessionUse,
    session_id: Nullable(Type.String({ description: 'Session of the next run; null: a new session' })),
    overlap: Overlap,
    missed: Missed,
    missed_limit: Type.Integer(),
    status: ScheduleStatus,
    next_run_at: Nullable(Time),
    run_as_key_id: Nullable(
      Type.String({
        description:
          'Key under which it runs: the last key that changed what runs or when. null when the master key or an unlimited admin key changed it; then `run_as_key_id` of the agent applies',
      }),
    ),
    created_at: Time,
    updated_at: Time,
  }),
)
export type Schedule = Static<typeof Schedule>

/** Settings that have a default, and what may be changed later. */
const settings = {
  timezone: Type.Optional(Timezone),
  session: Type.Optional(SessionUse),
  overlap: Type.Optional(Overlap),
  missed: Type.Optional(Missed),
  missed_limit: Type.Optional(MissedLimit),
  status: Type.Optional(ScheduleStatus),
}

const ScheduleCreate = named(
  'ScheduleCreate',
  Type.Object({
    name: Name,
    agent_id: Type.String({ minLength: 1, maxLength: 200 }),
    cron: Cron,
    prompt: PromptText,
    ...settings,
  }),
)
export type ScheduleCreate = Static<typeof ScheduleCreate>

const ScheduleUpdate = named(
  'ScheduleUpdate',
  Type.Object({
    name: Type.Optional(Name),
    agent_id: Type.Optional(Type.String({ minLength: 1, maxLength: 200 })),
    cron: Type.Optional(Cron),
    prompt: Type.Optional(PromptText),
    ...settings,
  }),
)
export type ScheduleUpdate = Static<typeof ScheduleUpdate>

const RunState = named(
  'ScheduleRunState',
  Type.Union(
    [
      Type.Literal('queued'),
      Type.Literal('skipped'),
      Type.Literal('failed'),
      Type.Literal('waiting'),
      Type.Literal('running'),
      Type.Literal('done'),
      Type.Literal('error'),
      Type.Literal('cancelled'),
    ],
    { description: '`queued`, `skipped` and `failed` are states of the run, the others those of its prompt' },
  ),
)

/** One tick of a schedule, or a run that a caller requested. */
export const ScheduleRun = named(
  'ScheduleRun',
  Type.Object({
    id: Type.String(),
    schedule_id: Type.String(),
    due_at: Time,
    cause: Type.Union([Type.Literal('tick'), Type.Literal('missed'), Type.Literal('manual')]),
    state: RunState,
    reason: Nullable(Type.String({ description: 'Reason why it was skipped or failed' })),
    session_id: Nullable(Type.String()),
    prompt_id: Nullable(Type.String()),
    created_at: Time,
    ended_at: Nullable(Time),
  }),
)
export type ScheduleRun = Static<typeof ScheduleRun>

/** Schedule in a list, with its newest run if that was asked for. */
export const ListedSchedule = named(
  'ListedSchedule',
  Type.Object({
    ...Schedule.properties,
    last_run: Type.Optional(Nullable(ScheduleRun, 'Newest run; only with `include=last_run`')),
  }),
)
export type ListedSchedule = Static<typeof ListedSchedule>

/** Next runs of a schedule that need not exist. */
export const SchedulePreview = named(
  'SchedulePreview',
  Type.Object({
    cron: Type.String({ description: 'With one space between its fields' }),
    timezone: Type.String(),
    runs: Type.Array(Time, { description: 'Fewer than `count` when the schedule ends before' }),
  }),
)
export type SchedulePreview = Static<typeof SchedulePreview>

const SchedulePath = Type.Object({ schedule_id: Type.String() })
const base = { access: 'key', errorShape: 'nested' } as const

export const scheduleRoutes = {
  list: route({
    ...base,
    id: 'schedules.list',
    method: 'GET',
    path: '/api/schedules',
    query: Type.Object({
      ...pageQuery,
      agent_id: Type.Optional(Type.String({ maxLength: 200 })),
      include: Type.Optional(
        Type.Literal('last_run', { description: 'Adds the newest run of each schedule as `last_run`' }),
      ),
    }),
    responses: { 200: Type.Object({ schedules: Type.Array(ListedSchedule), next_cursor: NextCursor }) },
    summary: 'List schedules',
    description: 'Lists schedules, newest first; `agent_id` filters.',
  }),
  create: route({
    ...base,
    id: 'schedules.create',
    method: 'POST',
    path: '/api/schedules',
    body: ScheduleCreate,
    responses: { 201: Schedule },
    summary: 'Create a schedule',
    description: 'Queues a prompt for an agent at the times of a cron expression in a time zone.',
  }),
  preview: route({
    ...base,
    id: 'schedules.preview',
    method: 'POST',
    path: '/api/schedules/preview',
    body: Type.Object({
      cron: Cron,
      timezone: Type.Optional({ ...Timezone, description: 'IANA time zone name; UTC by default' }),
      count: Type.Optional(Type.Integer({ minimum: 1, maximum: 10, default: 5 })),
    }),
    responses: { 200: SchedulePreview },
    summary: 'Preview the runs of a schedule',
    description:
      'Returns the next times of a cron expression in a time zone, with its clock changes. Stores nothing. Answers 400 with the name of the field that is wrong.',
  }),
  get: route({
    ...base,
    id: 'schedules.get',
    method: 'GET',
    path: '/api/schedules/{schedule_id}',
    params: SchedulePath,
    responses: { 200: Schedule },
    summary: 'Read a schedule',
    description: 'Returns one schedule with its next run.',
  }),
  update: route({
    ...base,
    id: 'schedules.update',
    method: 'PATCH',
    path: '/api/schedules/{schedule_id}',
    params: SchedulePath,
    body: ScheduleUpdate,
    responses: { 200: Schedule },
    summary: 'Update a schedule',
    description: 'Changes, pauses or resumes a schedule. Absent fields stay unchanged.',
  }),
  remove: route({
    ...base,
    id: 'schedules.remove',
    method: 'DELETE',
    path: '/api/schedules/{schedule_id}',
    params: SchedulePath,
    responses: { 200: Type.Object({ ok: Type.Literal(true) }) },
    summary: 'Delete a schedule',
    description: 'Deletes a schedule with its history. Its sessions stay.',
  }),
  trigger: route({
    ...base,
    id: 'schedules.trigger',
    method: 'POST',
    path: '/api/schedules/{schedule_id}/trigger',
    params: SchedulePath,
    responses: { 202: ScheduleRun },
    summary: 'Run a schedule now',
    description: 'Queues the prompt now, whatever the clock, the overlap policy and a pause say.',
  }),
  runs: route({
    ...base,
    id: 'schedules.runs',
    method: 'GET',
    path: '/api/schedules/{schedule_id}/runs',
    params: SchedulePath,
    query: Type.Object({ ...pageQuery, state: Type.Optional(RunState) }),
    responses: { 200: Type.Object({ runs: Type.Array(ScheduleRun), next_cursor: NextCursor }) },
    summary: 'List the runs of a schedule',
    description: 'Lists the result of each tick, newest first; `state` filters.',
  }),
}
