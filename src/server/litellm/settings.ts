import type { Json } from '../platform/json.ts'
import type { ImportReport } from './report.ts'

/** What to report about a setting that has no direct counterpart. */
type Note =
  | readonly ['carried', string]
  | readonly ['approximated', string, string?]
  | readonly ['unsupported', string, string]

const noCounterpart: Note = ['unsupported', 'has no counterpart', 'check whether you need it']
const elsewhere = (what: string): Note => ['carried', what]
const shared = elsewhere('not needed: replicas share their state through the database')
const verbosity = elsewhere('not needed: LOG_LEVEL sets the detail of the log')
const alerts: Note = ['unsupported', 'alerts are sent as events', 'add a webhook endpoint (/api/webhook-endpoints)']
const callers: Note = ['unsupported', 'callers authenticate with keys', 'give each caller a virtual key']
const logs: Note = [
  'unsupported',
  'callbacks of LiteLLM do not run here',
  'export calls with log_sinks (files, OTLP or HTTP), and scrape /metrics',
]

/** Settings of `router_settings` and `litellm_settings` that a reader may expect, besides those that are converted. */
const routerNotes: Readonly<Record<string, Note>> = {
  redis_host: shared,
  redis_port: shared,
  redis_password: shared,
  redis_url: shared,
  redis_db: shared,
  cache_responses: [
    'approximated',
    'the response cache is off by default',
    'set `cache: {ttl: 10m}` of a model or a key',
  ],
  enable_pre_call_checks: [
    'approximated',
    'a prompt that is too long moves to a model of router.context_window_fallbacks',
    'list such models',
  ],
  retry_policy: ['approximated', 'router.retries applies to every retryable error', 'check router.retries'],
  allowed_fails_policy: ['approximated', 'router.cooldown applies to every failure', 'check router.cooldown'],
  disable_cooldowns: ['unsupported', 'cooldowns cannot be switched off', 'raise router.cooldown.failures'],
  set_verbose: verbosity,
  debug_level: verbosity,
}

const libraryNotes: Readonly<Record<string, Note>> = {
  drop_params: elsewhere('always on: translation drops what a model does not accept, and reports it'),
  modify_params: elsewhere('always on: translation changes requests as far as a model requires'),
  set_verbose: verbosity,
  json_logs: elsewhere('always on: the log is JSON unless it goes to a terminal'),
  callbacks: logs,
  success_callback: logs,
  failure_callback: logs,
  service_callback: logs,
  cache: ['approximated', 'the response cache is off by default', 'set `cache: {ttl: 10m}` of a model or a key'],
  cache_params: ['approximated', 'the cache is in the database', 'set `cache: {ttl: 10m}` of a model or a key'],
  turn_off_message_logging: elsewhere('always on: messages are stored only with log_bodies of a key or a model'),
  redact_user_api_key_info: [
    'unsupported',
    'records of calls name the id of the key, never the key',
    'remove key_id in the receiver',
  ],
  max_budget: ['unsupported', 'there is no budget of the whole service', 'set a budget of each owner or key'],
  default_team_settings: [
    'unsupported',
    'teams are owners with a budget',
    'import the database, then set budgets of owners',
  ],
  default_internal_user_params: ['unsupported', 'there are no internal users', 'create keys with limits'],
  upperbound_key_generate_params: [
    'unsupported',
    'limited admin keys bound the keys that they create',
    'give teams a limited admin key',
  ],
  ssl_verify: ['unsupported', 'certificates are always checked', 'add the authority with NODE_EXTRA_CA_CERTS'],
}

const generalNotes: Readonly<Record<string, Note>> = {
  database_url: [
    'approximated',
    'the database is not part of the file',
    'export DATABASE_URL with an own, empty database',
  ],
  store_model_in_db: elsewhere('always on: models can also be added by the API'),
  store_prompts_in_spend_logs: [
    'unsupported',
    'bodies are recorded only for a time',
    'set log_bodies of a key or a model',
  ],
  proxy_batch_write_at: elsewhere('not needed: the ledger is written in batches'),
  database_connection_pool_limit: elsewhere('not needed: pools have a fixed size'),
  disable_spend_logs: ['unsupported', 'every call is booked', 'set retention.ledger'],
  background_health_checks: elsewhere('not needed: failures of calls start cooldowns'),
  health_check_interval: elsewhere('not needed: failures of calls start cooldowns'),
  salt_key: elsewhere('not needed: SWITCHYARD_ENCRYPTION_KEY encrypts secrets'),
  alerting: alerts,
  alerting_threshold: ['unsupported', 'there are no alerts of slow calls', 'alert on /metrics'],
  alert_types: alerts,
  custom_auth: ['unsupported', 'Python code does not run here', 'use virtual keys, or check calls in a hook'],
  pass_through_endpoints: ['unsupported', 'only the APIs of providers are passed through', 'give keys `passthrough`'],
  max_parallel_requests: [
    'unsupported',
    'limits of parallel calls belong to keys and models',
    'set max_parallel_requests of keys',
  ],
  global_max_parallel_requests: [
    'unsupported',
    'limits of parallel calls belong to keys and models',
    'set limits.max_streams',
  ],
  allowed_routes: ['unsupported', 'keys are limited by models, not by routes', 'set models of keys'],
  enable_jwt_auth: callers,
  litellm_jwtauth: callers,
  ui_access_mode: ['unsupported', 'the console opens with a key', 'give people admin or user keys'],
}

const notes = { router_settings: routerNotes, litellm_settings: libraryNotes, general_settings: generalNotes } as const

/** Reports the settings of a block that the conversion does not read itself. */
export function reportOthers(
  block: keyof typeof notes,
  given: Json,
  { report, read }: { readonly report: ImportReport; readonly read: readonly string[] },
): void {
  const known = notes[block]
  for (const name of Object.keys(given)) {
    if (read.includes(name)) continue
    const [state, detail, next] = (Object.hasOwn(known, name) ? known[name] : undefined) ?? noCounterpart
    const setting = `${block}.${name}`
    if (state === 'carried') report.carried(setting, detail)
    else if (state === 'approximated') report.approximated(setting, detail, next)
    else report.unsupported(setting, detail, next ?? '')
  }
}
