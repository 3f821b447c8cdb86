/** Kinds of metrics, in the words of Prometheus. */
export interface MetricSpec {
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly help: string
  readonly labels: readonly string[]
  /** Upper bounds of a histogram. */
  readonly buckets?: readonly number[]
}

/** Source: OpenTelemetry GenAI metrics, `gen_ai.client.operation.duration`. */
const callSeconds = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92, 300]
/** Source: OpenTelemetry GenAI metrics, `gen_ai.server.time_to_first_token`. */
const firstTokenSeconds = [0.001, 0.01, 0.04, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 30]
/** Source: OpenTelemetry GenAI metrics, `gen_ai.client.token.usage`. */
const tokenCounts = [1, 4, 16, 64, 256, 1024, 4096, 16_384, 65_536, 262_144, 1_048_576]
const runSeconds = [0.1, 0.5, 1, 5, 10, 30, 60, 300, 900, 3600, 14_400]
const toolSeconds = [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 1800]
const sweepSeconds = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 30, 300]

const genAi = ['gen_ai_operation_name', 'gen_ai_provider_name', 'gen_ai_request_model'] as const
const model = ['model', 'provider'] as const

/** Every metric of the service. Dashboards, alerts and docs name only these. */
export const catalogue = {
  gen_ai_client_operation_duration_seconds: {
    type: 'histogram',
    help: 'Duration of model calls, from the request to the end of the answer',
    labels: [...genAi, 'error_type'],
    buckets: callSeconds,
  },
  gen_ai_server_time_to_first_token_seconds: {
    type: 'histogram',
    help: 'Time from the request to the first content of the answer',
    labels: genAi,
    buckets: firstTokenSeconds,
  },
  gen_ai_client_token_usage: {
    type: 'histogram',
    help: 'Tokens per model call; input includes cached tokens',
    labels: [...genAi, 'gen_ai_token_type'],
    buckets: tokenCounts,
  },
  switchyard_model_calls_total: {
    type: 'counter',
    help: 'Model calls by outcome: completed, failed, aborted or lost; cached is true for answers of the response cache',
    labels: [...model, 'outcome', 'cached'],
  },
  switchyard_model_call_rejections_total: {
    type: 'counter',
    help: 'Model calls that the gateway itself rejected, by error code',
    labels: ['code'],
  },
  switchyard_model_call_retries_total: {
    type: 'counter',
    help: 'Attempts after the first one of model calls',
    labels: model,
  },
  switchyard_tokens_total: {
    type: 'counter',
    help: 'Tokens of model calls by kind; reasoning is a part of output',
    labels: [...model, 'kind'],
  },
  switchyard_cost_usd_total: {
    type: 'counter',
    help: 'Cost of model calls in US dollars; calls without a known price add nothing',
    labels: model,
  },
  switchyard_unpriced_calls_total: {
    type: 'counter',
    help: 'Model calls whose price is unknown',
    labels: model,
  },
  switchyard_cooldowns_total: {
    type: 'counter',
    help: 'Cooldowns of deployments that this process started',
    labels: model,
  },
  switchyard_deployments: {
    type: 'gauge',
    help: 'Deployments by state: healthy, cooling or probing, as this process sees them',
    labels: [...model, 'state'],
  },
  switchyard_budget_reservations_total: {
    type: 'counter',
    help: 'Calls under a budget or rate limit: reserved, or the code of the rejection',
    labels: ['result'],
  },
  switchyard_model_streams_open: { type: 'gauge', help: 'Model calls in flight that stream', labels: [] },
  switchyard_event_streams_open: { type: 'gauge', help: 'Open event streams of sessions', labels: [] },
  switchyard_sessions: {
    type: 'gauge',
    help: 'Sessions in the database by state; the same on all replicas',
    labels: ['state'],
  },
  switchyard_prompts_waiting: {
    type: 'gauge',
    help: 'Prompts that wait for a runner, in the database; the same on all replicas',
    labels: [],
  },
  switchyard_prompts_waiting_oldest_seconds: {
    type: 'gauge',
    help: 'Age of the oldest waiting prompt, 0 without one; the same on all replicas',
    labels: [],
  },
  switchyard_approvals_pending: {
    type: 'gauge',
    help: 'Tool calls that wait for a person, in the database; the same on all replicas',
    labels: [],
  },
  switchyard_leases: {
    type: 'gauge',
    help: 'Sessions with an unexpired lease, in the database; the same on all replicas',
    labels: [],
  },
  switchyard_sandboxes: {
    type: 'gauge',
    help: 'Sessions with a running sandbox, in the database; the same on all replicas',
    labels: [],
  },
  switchyard_sessions_running: { type: 'gauge', help: 'Sessions that run in this process', labels: [] },
  switchyard_leases_acquired_total: {
    type: 'counter',
    help: 'Leases of sessions that this process acquired',
    labels: [],
  },
  switchyard_takeovers_total: {
    type: 'counter',
    help: 'Leases acquired from an owner that did not hand the session over',
    labels: [],
  },
  switchyard_runs_total: {
    type: 'counter',
    help: 'Runs of sessions that ended, by outcome: completed, failed or paused',
    labels: ['outcome'],
  },
  switchyard_run_duration_seconds: {
    type: 'histogram',
    help: 'Duration of runs, from their start or takeover in this process to their end or pause',
    labels: ['outcome'],
    buckets: runSeconds,
  },
  switchyard_tool_calls_total: {
    type: 'counter',
    help: 'Tool calls of sessions by kind (own, mcp or custom) and outcome',
    labels: ['kind', 'outcome'],
  },
  switchyard_tool_call_duration_seconds: {
    type: 'histogram',
    help: 'Duration of tool calls, without those that a person approves',
    labels: ['kind'],
    buckets: toolSeconds,
  },
  switchyard_deliveries_total: {
    type: 'counter',
    help: 'Webhooks received, and attempts to send endpoint messages and replies, by outcome',
    labels: ['kind', 'outcome'],
  },
  switchyard_deliveries_queued: {
    type: 'gauge',
    help: 'Webhooks in progress, sessions with unsent endpoint events and unsent replies; the same on all replicas',
    labels: ['kind'],
  },
  switchyard_background_responses: {
    type: 'gauge',
    help: 'Background responses that wait or run, in the database; the same on all replicas',
    labels: ['status'],
  },
  switchyard_schedule_runs_total: {
    type: 'counter',
    help: 'Runs of schedules that this process settled, by state',
    labels: ['state'],
  },
  switchyard_schedules_overdue_seconds: {
    type: 'gauge',
    help: 'How long the most overdue schedule is late, 0 without one; the same on all replicas',
    labels: [],
  },
  switchyard_sweep_duration_seconds: {
    type: 'histogram',
    help: 'Duration of periodic work',
    labels: ['sweep', 'outcome'],
    buckets: sweepSeconds,
  },
  switchyard_sweep_last_run_timestamp_seconds: {
    type: 'gauge',
    help: 'Unix time of the last successful run of periodic work in this process',
    labels: ['sweep'],
  },
  switchyard_database_up: {
    type: 'gauge',
    help: '1 if the database answered the last query for metrics, else 0',
    labels: [],
  },
  switchyard_database_connections: {
    type: 'gauge',
    help: 'Connections of the pools by state: idle or in_use',
    labels: ['pool', 'state'],
  },
  switchyard_database_connections_max: { type: 'gauge', help: 'Maximum number of connections', labels: ['pool'] },
  switchyard_database_waiting: { type: 'gauge', help: 'Queries that wait for a connection', labels: ['pool'] },
  switchyard_event_loop_delay_seconds: {
    type: 'gauge',
    help: 'Mean delay of the event loop over the last second; 0 while the loop is idle enough',
    labels: [],
  },
  switchyard_event_loop_active_seconds_total: {
    type: 'counter',
    help: 'Time in which the event loop was active; its rate is the utilization',
    labels: [],
  },
  switchyard_telemetry_dropped_total: {
    type: 'counter',
    help: 'Spans and log records that were not exported: the queue was full, or the collector rejected them',
    labels: ['signal', 'reason'],
  },
  switchyard_telemetry_exported_total: {
    type: 'counter',
    help: 'Spans and log records that the collector accepted',
    labels: ['signal'],
  },
  switchyard_build_info: {
    type: 'gauge',
    help: 'Always 1; the labels describe the process',
    labels: ['version', 'role'],
  },
  process_cpu_seconds_total: { type: 'counter', help: 'CPU time of the process, user and system', labels: [] },
  process_resident_memory_bytes: { type: 'gauge', help: 'Resident memory of the process', labels: [] },
  process_start_time_seconds: { type: 'gauge', help: 'Unix time of the start of the process', labels: [] },
  process_open_fds: {
    type: 'gauge',
    help: 'Open file descriptors; absent where the system does not report them',
    labels: [],
  },
  process_max_fds: { type: 'gauge', help: 'Limit of open file descriptors; absent where there is none', labels: [] },
  nodejs_heap_size_used_bytes: { type: 'gauge', help: 'Used heap of the JavaScript engine', labels: [] },
  nodejs_external_memory_bytes: { type: 'gauge', help: 'Memory outside of the heap, such as buffers', labels: [] },
} as const satisfies Readonly<Record<string, MetricSpec>>

export type MetricName = keyof typeof catalogue
