import { type Static, Type } from 'typebox'
import { managedList, managedPage } from './managed-lists.ts'
import { ManagedSessionCreate } from './managed-sessions.ts'
import { Metadata, MetadataPatch } from './metadata.ts'
import { named } from './named.ts'
import { route } from './route.ts'
import { DateTime, JsonObject, Name, Nullable, VersionNumber } from './schemas.ts'

const Id = Type.String({ minLength: 1, maxLength: 200 })
const Description = Type.String({ maxLength: 10_000 })
const { resources: Resources, vault_ids: VaultIds, budget: Budget, initial_events } = ManagedSessionCreate.properties

const AgentOfDeployment = named(
  'AgentOfDeployment',
  Type.Union([Id, Type.Object({ type: Type.Literal('agent'), id: Id, version: Type.Optional(VersionNumber()) })]),
)
export type AgentOfDeployment = Static<typeof AgentOfDeployment>

const cron = {
  type: Type.Literal('cron'),
  expression: Type.String({
    minLength: 1,
    maxLength: 200,
    description: 'Minute, hour, day of the month, month, day of the week: `30 9 * * MON-FRI`',
  }),
  timezone: Type.String({ minLength: 1, maxLength: 100, description: 'IANA time zone name, such as Europe/Berlin' }),
}
const CronWrite = named('DeploymentScheduleWrite', Type.Object(cron))
export type DeploymentScheduleWrite = Static<typeof CronWrite>

const InitialEvents = Type.Array(initial_events.items, {
  minItems: 1,
  maxItems: 50,
  description: 'Sent to each session when it is created',
})

const DeploymentCreate = named(
  'DeploymentCreate',
  Type.Object({
    name: Name,
    agent: AgentOfDeployment,
    environment_id: Id,
    initial_events: InitialEvents,
    description: Type.Optional(Nullable(Description)),
    schedule: Type.Optional(Nullable(CronWrite, 'Without a schedule it runs only on request')),
    resources: Resources,
    vault_ids: VaultIds,
    budget: Budget,
    metadata: Type.Optional(Metadata),
  }),
)
export type DeploymentCreate = Static<typeof DeploymentCreate>

/** Absent fields stay unchanged; null clears; lists and the schedule are replaced as a whole. */
const DeploymentUpdate = named(
  'DeploymentUpdate',
  Type.Object({
    name: Type.Optional(Name),
    agent: Type.Optional(AgentOfDeployment),
    environment_id: Type.Optional(Id),
    initial_events: Type.Optional(InitialEvents),
    description: Type.Optional(Nullable(Description)),
    schedule: Type.Optional(Nullable(CronWrite)),
    resources: Type.Optional(Nullable(Type.Array(Resources.items, { maxItems: 100 }))),
    vault_ids: Type.Optional(Nullable(Type.Array(Id, { maxItems: 100 }))),
    budget: Budget,
    metadata: Type.Optional(Nullable(MetadataPatch)),
  }),
)
export type DeploymentUpdate = Static<typeof DeploymentUpdate>

const AgentReference = Type.Object({ id: Type.String(), type: Type.Literal('agent'), version: Type.Integer() })
const Status = Type.Union([Type.Literal('active'), Type.Literal('paused')])

/** An agent with all that its sessions start with, and when they start. */
export const ManagedDeployment = named(
  'ManagedDeployment',
  Type.Object({
    id: Type.String(),
    type: Type.Literal('deployment'),
    name: Type.String(),
    description: Nullable(Type.String()),
    agent: AgentReference,
    environment_id: Type.String(),
    initial_events: Type.Array(JsonObject),
    resources: Type.Array(JsonObject),
    vault_ids: Type.Array(Type.String()),
    budget: Nullable(JsonObject),
    metadata: Type.Record(Type.String(), Type.String()),
    schedule: Nullable(
      Type.Object({
        ...cron,
        last_run_at: Nullable(DateTime, 'Last run of the schedule'),
        upcoming_runs_at: Type.Array(DateTime, { description: 'The next 5 times, also while it is paused' }),
      }),
    ),
    status: Status,
    paused_reason: Nullable(Type.Object({ type: Type.Literal('manual') })),
    created_at: DateTime,
    updated_at: DateTime,
    archived_at: Nullable(DateTime),
  }),
)
export type ManagedDeployment = Static<typeof ManagedDeployment>

/** A session that a deployment started, or the reason why it did not. */
export const DeploymentRun = named(
  'DeploymentRun',
  Type.Object({
    id: Type.String(),
    type: Type.Literal('deployment_run'),
    deployment_id: Type.String(),
    agent: AgentReference,
    session_id: Nullable(Type.String()),
    error: Nullable(
      Type.Object({
        type: Type.Union([
          Type.Literal('session_creation_rejected_error'),
          Type.Literal('session_rate_limited_error'),
          Type.Literal('unknown_error'),
        ]),
        message: Type.String(),
      }),
    ),
    trigger_context: Type.Union([
      Type.Object({ type: Type.Literal('schedule'), scheduled_at: DateTime }),
      Type.Object({ type: Type.Literal('manual') }),
    ]),
    created_at: DateTime,
  }),
)
export type DeploymentRun = Static<typeof DeploymentRun>

const DeploymentPath = Type.Object({ deployment_id: Type.String({ description: 'Id of the deployment' }) })
const base = { access: 'key', errorShape: 'anthropic' } as const
const path = '/v1/deployments'
const one = { ...base, path: `${path}/{deployment_id}`, params: DeploymentPath } as const

export const managedDeploymentRoutes = {
  create: route({
    ...base,
    id: 'managed_deployments.create',
    unknownFields: 'reported',
    method: 'POST',
    path,
    body: DeploymentCreate,
    responses: { 200: ManagedDeployment },
    summary: 'Create a deployment',
    description:
      'Stores an agent with all that its sessions start with, and starts one at each time of `schedule`. Answers 400 when such a session could not be created. The sessions run under the key of the last change.',
  }),
  list: route({
    ...base,
    id: 'managed_deployments.list',
    method: 'GET',
    path,
    query: Type.Object({
      ...managedPage,
      agent_id: Type.Optional(Type.String({ maxLength: 200 })),
      status: Type.Optional(Status),
      include_archived: Type.Optional(Type.Boolean({ default: false })),
      'created_at[gte]': Type.Optional(DateTime),
      'created_at[lte]': Type.Optional(DateTime),
    }),
    responses: { 200: managedList(ManagedDeployment) },
    summary: 'List deployments',
    description: 'Lists deployments, newest first.',
  }),
  get: route({
    ...one,
    id: 'managed_deployments.get',
    method: 'GET',
    responses: { 200: ManagedDeployment },
    summary: 'Read a deployment',
    description: 'Returns one deployment with its next times.',
  }),
  update: route({
    ...one,
    id: 'managed_deployments.update',
    unknownFields: 'reported',
    method: 'POST',
    body: DeploymentUpdate,
    responses: { 200: ManagedDeployment },
    summary: 'Update a deployment',
    description: 'Changes what later sessions start with, or when. An agent without `version` is its current version.',
  }),
  archive: route({
    ...one,
    id: 'managed_deployments.archive',
    method: 'POST',
    path: `${path}/{deployment_id}/archive`,
    responses: { 200: ManagedDeployment },
    summary: 'Archive a deployment',
    description: 'Ends a deployment for good. Its sessions and runs stay.',
  }),
  pause: route({
    ...one,
    id: 'managed_deployments.pause',
    method: 'POST',
    path: `${path}/{deployment_id}/pause`,
    responses: { 200: ManagedDeployment },
    summary: 'Pause a deployment',
    description: 'Stops the schedule. Runs on request are still possible.',
  }),
  unpause: route({
    ...one,
    id: 'managed_deployments.unpause',
    method: 'POST',
    path: `${path}/{deployment_id}/unpause`,
    responses: { 200: ManagedDeployment },
    summary: 'Resume a deployment',
    description: 'Continues the schedule with its next time.',
  }),
  run: route({
    ...one,
    id: 'managed_deployments.run',
    method: 'POST',
    path: `${path}/{deployment_id}/run`,
    responses: { 200: DeploymentRun },
    summary: 'Run a deployment now',
    description:
      'Creates a session of the deployment under the key of the caller. When it cannot be created, the run has an `error`.',
  }),
  runs: route({
    ...base,
    id: 'deployment_runs.list',
    method: 'GET',
    path: '/v1/deployment_runs',
    query: Type.Object({
      ...managedPage,
      deployment_id: Type.Optional(Type.String({ maxLength: 200, description: 'Runs of this deployment' })),
      has_error: Type.Optional(Type.Boolean({ description: 'Only runs with, or without, an error' })),
      trigger_type: Type.Optional(
        Type.Union([Type.Literal('schedule'), Type.Literal('manual')], {
          description: 'Only runs of schedules, or on request',
        }),
      ),
      'created_at[gt]': Type.Optional(DateTime),
      'created_at[gte]': Type.Optional(DateTime),
      'created_at[lt]': Type.Optional(DateTime),
      'created_at[lte]': Type.Optional(DateTime),
    }),
    responses: { 200: managedList(DeploymentRun) },
    summary: 'List the runs of deployments',
    description: 'Lists runs of all deployments, newest first. They are kept for 90 days.',
  }),
  getRun: route({
    ...base,
    id: 'deployment_runs.get',
    method: 'GET',
    path: '/v1/deployment_runs/{deployment_run_id}',
    params: Type.Object({ deployment_run_id: Type.String({ description: 'Id of the run' }) }),
    responses: { 200: DeploymentRun },
    summary: 'Read a run of a deployment',
    description: 'Returns one run with its session or its error.',
  }),
}
