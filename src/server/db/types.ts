import type { ColumnType, Generated, GeneratedAlways } from 'kysely'
import type { Agent, AgentStatus } from '../../contract/agents.ts'
import type { AttachedSkill } from '../../contract/attached-skill.ts'
import type { McpAuthType, McpTool, Oauth2Flow } from '../../contract/mcp.ts'
import type { McpCallOutcome, McpCallVia } from '../../contract/mcp-calls.ts'
import type { MemorySource } from '../../contract/memories.ts'
import type { NativeProvider } from '../../contract/native.ts'
import type { PromptKind, PromptMode, PromptPart, PromptState } from '../../contract/prompts.ts'
import type { SessionRepository } from '../../contract/repositories.ts'
import type { ApiSpec } from '../../contract/runtimes.ts'
import type { SandboxStatus } from '../../contract/sessions.ts'

/** A `json` column: read as a value, written as JSON text, because pg would send an array as a PostgreSQL array. */
type Json<T = unknown> = ColumnType<T, string, string>

/** A time that defaults to the database clock. */
type DefaultTime = ColumnType<Date, Date | undefined, Date>

type JsonObject = Readonly<Record<string, unknown>>

/** Columns of an encrypted value. It is bound to the version, besides the ids of its row. */
interface EncryptedValue {
  version: number
  sealed: Buffer
  key_id: string
}

/** Table `agents`: one row per agent, as its current version. */
export interface AgentTable {
  id: string
  owner_id: string
  name: string
  model: string
  system: string
  description: string | null
  harness: string
  tools: Json
  config: Json<Agent['config']>
  /** Skill blocks as written into `system`. */
  skills: ColumnType<readonly AttachedSkill[], string | undefined, string>
  status: Generated<AgentStatus>
  version: Generated<number>
  created_at: DefaultTime
  run_as_key_id: ColumnType<string | null, string | null | undefined, string | null>
}

/** Table `skills`: one row per skill of the library. */
export interface SkillTable {
  id: string
  /** Principal that created it. */
  owner_id: string
  name: string
  description: string | null
  content: string
  created_at: DefaultTime
}

/** Table `agent_versions`: one row per change of an agent; `snapshot` is the agent in that version. */
export interface AgentVersionTable {
  agent_id: string
  version: number
  snapshot: Json
  created_at: DefaultTime
}

/** Table `sessions`: one row per session, with its lease and the counters of its queue and log. */
export interface SessionTable {
  id: string
  owner_id: string
  title: string
  agent: string
  agent_id: string
  agent_version: number | null
  harness: string
  runtime: string
  runtime_agent_ref_id: string | null
  provider_session_id: string | null
  provider_run_id: string | null
  /** The repository in its files; null before it is cloned. */
  repository: Json<SessionRepository> | null
  environment: Json<JsonObject>
  timezone: string | null
  /** The session that started it, its parent and so on. */
  ancestors: Generated<string[]>
  /** Where its tools last ran. */
  data_folder: string | null
  /** Latest row of `workspace_checkpoints`; null before the first. */
  checkpoint_id: string | null
  checkpoint_seq: number | null
  forked_from_id: string | null
  forked_from_seq: number | null
  /** Last copied event of the source log. */
  forked_at_seq: number | null
  next_seq: Generated<number>
  log_bytes: Generated<number>
  next_position: Generated<number>
  fence: Generated<number>
  lease_owner: string | null
  lease_until: Date | null
  /** Owner of the program of a run that waits for people. */
  warm_owner: string | null
  last_outcome: 'completed' | 'failed' | 'cancelled' | null
  sandbox_status: Generated<SandboxStatus>
  deleted_at: Date | null
  purged_at: Date | null
  emptied_at: Date | null
  created_at: DefaultTime
  updated_at: DefaultTime
}

/** Table `workspace_checkpoints`: files of a session at an event of its log. */
export interface WorkspaceCheckpointTable {
  session_id: string
  seq: number
  id: string
  is_full: boolean
  /** JSON, compressed. */
  manifest: Buffer
  files: number
  bytes: number
  left_out: Json<readonly { readonly path: string; readonly reason: string }[]>
  created_at: DefaultTime
}

/** Table `workspace_blobs`: pieces of files by SHA-256, once per owner. */
export interface WorkspaceBlobTable {
  owner_id: string
  hash: Buffer
  bytes: number
  encoding: 'raw' | 'zstd'
  /** Null if it is in the object store. */
  data: Buffer | null
  object_key: string | null
  /** Time since which no session references it; null while one does. */
  loose_since: Date | null
}

/** Table `workspace_objects`: objects to delete from the object store. */
export interface WorkspaceObjectTable {
  object_key: string
  delete_after: Date
}

/** Table `workspace_refs`: references of sessions to pieces. */
export interface WorkspaceRefTable {
  session_id: string
  owner_id: string
  hash: Buffer
}

/** Table `session_files`: content of files that prompts carry. */
export interface SessionFileTable {
  session_id: string
  hash: Buffer
  owner_id: string
  bytes: number
  pieces: Buffer[]
  created_at: DefaultTime
}

/** Table `prompts`: queue of each session, including finished prompts. */
export interface PromptTable {
  id: string
  session_id: string
  position: number
  parts: Json<PromptPart[]>
  model: string
  system: string | null
  output_schema: ColumnType<Readonly<Record<string, unknown>> | null, string | null | undefined, string | null>
  kind: Generated<PromptKind>
  mode: PromptMode
  state: Generated<PromptState>
  message_id: string | null
  principal: string
  /** Key that the model calls of the prompt are booked on; null for the master key. */
  key_id: ColumnType<string | null, string | null | undefined, string | null>
  /** Number of consecutive stops by a budget without progress. */
  held_times: Generated<number>
  /** Running time before the runs had to wait. */
  ran_ms: Generated<number>
  run_id: string | null
  resumes: Generated<number>
  stop_requested: Generated<boolean>
  created_at: DefaultTime
  started_at: Date | null
  ended_at: Date | null
}

/** Table `session_events`: log of each session; `seq` has no gaps. */
export interface SessionEventTable {
  session_id: string
  seq: number
  id: string
  type: string
  payload: Json<JsonObject>
  /** Size of the payload in UTF-8; null in rows of older releases. */
  bytes: number | null
  fence: number
  created_at: DefaultTime
}

/** Table `stream_tickets`: hashes of one-time tickets for event streams. */
export interface StreamTicketTable {
  hash: Buffer
  session_id: string
  principal: string
  key_id: string | null
  expires_at: Date
}

/** Table `usage`: one row per model call. */
export interface UsageTable {
  id: string
  /** Null for the lost rest of a slice of budgets. */
  request_id: string | null
  principal: string
  owner_id: string | null
  agent_id: string | null
  session_id: string | null
  prompt_id: string | null
  client_session_id: string | null
  client_agent_id: string | null
  client_parent_id: string | null
  alias: string
  deployment: string
  provider: string
  upstream_model: string
  lane: string
  outcome: 'completed' | 'failed' | 'aborted' | 'lost'
  stop_reason: string | null
  status: number | null
  attempts: number
  input_tokens: number
  cache_read_tokens: number
  cache_write_5m_tokens: number
  cache_write_1h_tokens: number
  output_tokens: number
  estimated: boolean
  /** US dollars as an exact decimal; null if the price is unknown. */
  cost_usd: string | null
  degraded: string | null
  key_id: string | null
  run_id: string | null
  protocol: string | null
  /** Part of `output_tokens`. */
  reasoning_tokens: Generated<number>
  web_searches: Generated<number>
  /** Units other than tokens. */
  units: ColumnType<Readonly<Record<string, number>> | null, string | null | undefined, string | null>
  /** Applied US dollars per token by kind. */
  rates: ColumnType<Readonly<Record<string, string>> | null, string | null | undefined, string | null>
  price_source: string | null
  /** US dollars that were reserved for the call. */
  held_usd: string | null
  /** True if the response cache answered. */
  cached: ColumnType<boolean | null, boolean | null | undefined, boolean | null>
  first_content_ms: number | null
  total_ms: number
  created_at: DefaultTime
}

/** Table `idempotency_keys`: stored answers for idempotent retries. */
export interface IdempotencyKeyTable {
  principal: string
  route: string
  key: string
  body_hash: Buffer
  /** Null while the first request is running. */
  response: ColumnType<unknown, string | null | undefined, string | null>
  created_at: DefaultTime
}

/** Table `vault_entries`: named, encrypted secrets; an empty `owner_id` is global. */
export interface VaultEntryTable extends EncryptedValue {
  owner_id: string
  key: string
  created_at: DefaultTime
  updated_at: DefaultTime
}

/** Table `service_secrets`: encrypted secrets generated by the service. */
export interface ServiceSecretTable extends EncryptedValue {
  name: string
  created_at: DefaultTime
}

/** Table `provider_credentials`: one encrypted credential per provider, with its address. */
export interface ProviderCredentialTable extends EncryptedValue {
  id: string
  provider: string
  api_base: string
  masked: string
  created_at: DefaultTime
  updated_at: DefaultTime
}

/** Table `deployments`: models added through the API. */
export interface DeploymentTable {
  id: string
  model_name: string
  params: Json<JsonObject>
  version: number
  /** Encrypted secrets of `params`; null if there are none. */
  sealed: Buffer | null
  key_id: string | null
  created_by: string
  created_at: DefaultTime
  updated_at: DefaultTime
}

/** Table `runtime_credentials`: one row per connected built-in runtime. */
export interface RuntimeCredentialTable extends EncryptedValue {
  id: string
  api_base: string
  masked: string
  created_at: DefaultTime
  updated_at: DefaultTime
}

/** Table `runtime_harnesses`: runtimes registered through the API. */
export interface RuntimeHarnessTable {
  alias: string
  api_spec: ApiSpec
  display_name: string
  api_base: string
  /** Null without a key, like the next two columns. */
  masked: string | null
  version: number
  sealed: Buffer | null
  key_id: string | null
  created_by: string
  created_at: DefaultTime
  updated_at: DefaultTime
}

/** Table `runtime_health`: result of the last health check of a runtime. */
export interface RuntimeHealthTable {
  id: string
  api_base: string
  version: number
  checked_at: Date
  error: string | null
  /** Earliest time of the next health check by any replica; null for now. */
  look_after: Date | null
}

/** Table `mcp_servers`: registered MCP servers. */
interface McpServerTable {
  server_id: string
  server_name: string
  alias: string | null
  description: string | null
  url: string
  auth_type: McpAuthType
  oauth2_flow: Oauth2Flow | null
  has_credentials: boolean
  vault_key: string | null
  static_headers: Json<Readonly<Record<string, string>>>
  allowed_tools: Json<readonly string[]> | null
  disallowed_tools: Json<readonly string[]> | null
  /** Null for never. */
  require_approval: Json<'always' | readonly string[]> | null
  version: number
  /** Null without a credential and without static headers, like the next column. */
  sealed: Buffer | null
  key_id: string | null
  created_by: string
  created_at: DefaultTime
  updated_at: DefaultTime
}

/** Table `mcp_server_states`: what the last check of an MCP server has found. */
interface McpServerStateTable {
  server_id: string
  url: string
  status: 'healthy' | 'unhealthy'
  last_checked_at: Date
  last_error: string | null
  era: 'modern' | 'legacy' | null
  protocol_version: string | null
  tools: Json<readonly McpTool[]> | null
  tools_hash: string | null
  pending_tools: Json<readonly McpTool[]> | null
  pending_tools_hash: string | null
}

/** Table `mcp_calls`: calls of MCP tools. */
export interface McpCallTable {
  id: string
  created_at: Date
  server_id: string
  server_name: string
  tool: string
  via: McpCallVia
  principal: string
  key_id: string | null
  outcome: McpCallOutcome
  error_code: string | null
  ms: number
  request_bytes: number
  response_bytes: number
}

/** Table `mcp_authorizations`: logins at MCP servers that have begun. */
interface McpAuthorizationTable {
  state_hash: string
  server_id: string
  principal: string
  url: string
  version: number
  sealed: Buffer
  key_id: string
  expires_at: Date
}

/** Table `mcp_logins`: tokens of principals at MCP servers. */
interface McpLoginTable {
  server_id: string
  principal: string
  url: string
  version: number
  sealed: Buffer
  key_id: string
  refreshing_until: Date | null
  created_at: DefaultTime
}

/** Table `audit_log`: who changed what; append-only. */
export interface AuditLogTable {
  id: string
  created_at: DefaultTime
  principal: string
  role: string
  key_id: string | null
  address: string | null
  request_id: string | null
  action: string
  object_id: string
  owner_id: string | null
  before: ColumnType<JsonObject | null, string | null, string | null>
  after: ColumnType<JsonObject | null, string | null, string | null>
}

/** Table `api_keys`: virtual keys without their secrets. */
export interface ApiKeyTable {
  id: string
  parent_id: string | null
  ancestors: Generated<string[]>
  label: string
  owner_id: string | null
  role: 'user' | 'admin'
  models: Json<readonly string[]>
  passthrough: Json<readonly NativeProvider[]>
  mcp_servers: ColumnType<readonly string[] | null, string | null | undefined, string | null>
  mcp_tools: ColumnType<Readonly<Record<string, readonly string[]>> | null, string | null | undefined, string | null>
  cache: ColumnType<{ readonly ttl: string } | null, string | null | undefined, string | null>
  metadata: Json<JsonObject>
  prefix: string
  last4: string
  expires_at: Date | null
  revoked_at: Date | null
  last_used_at: Date | null
  created_by: string
  created_at: DefaultTime
}

/** Table `api_key_hashes`: hashes for the lookup of presented keys. */
export interface ApiKeyHashTable {
  hash: Buffer
  key_id: string
  valid_until: Date | null
  created_at: DefaultTime
}

/** Table `freezes`: subjects whose spending is frozen. */
interface FreezeTable {
  id: string
  scope: 'key' | 'owner' | 'all'
  scope_id: string
  reason: string | null
  is_by_limited_key: boolean
  created_by: string
  created_at: DefaultTime
}

/** Table `budgets`: limits and counters of keys, owners, agents and sessions. Amounts are exact decimals. */
export interface BudgetTable {
  scope: 'key' | 'owner' | 'agent' | 'session'
  scope_id: string
  id: Generated<number>
  max_usd: string | null
  soft_usd: string | null
  duration: string | null
  anchored_at: DefaultTime
  period_started_at: DefaultTime
  reset_at: Date | null
  spent_usd: Generated<string>
  reserved_usd: Generated<string>
  rpm_limit: number | null
  tpm_limit: number | null
  max_parallel: number | null
  window_started_at: Date | null
  window_requests: Generated<number>
  window_tokens: Generated<number>
  parallel: Generated<number>
  warned_at: Date | null
  created_at: DefaultTime
  updated_at: DefaultTime
}

/** Table `reservations`: amounts reserved for calls in flight. */
export interface ReservationTable {
  /** Request id of a call, or the id of a slice for many calls. */
  request_id: string
  held_in: Json
  amount_usd: string
  tokens: number
  facts: Json<JsonObject>
  /** Last batch that was booked from a slice. */
  booked_in: string | null
  expires_at: Date
  created_at: DefaultTime
}

/** Table `memories`: memories of agents across sessions. */
export interface MemoryTable {
  id: string
  agent_id: string
  text: string
  /** Text in lower case. */
  folded: string
  words: GeneratedAlways<string>
  tags: string[]
  type: string
  priority: number
  disabled: Generated<boolean>
  times_applied: Generated<number>
  last_applied_at: Date | null
  source: MemorySource
  session_id: string | null
  created_by: string
  created_at: DefaultTime
}

/** Table `session_memories`: memories that a session got at its start, in order. */
export interface SessionMemoriesTable {
  session_id: string
  memory_ids: string[]
  created_at: DefaultTime
}

/** Table `webhook_deliveries`: received deliveries; the primary key is the agent and the sender's id. */
export interface WebhookDeliveryTable {
  agent_id: string
  delivery_id: string
  id: string
  owner_id: string
  kind: 'webhook' | 'replay' | 'test'
  replay_of: string | null
  status: 'processing' | 'accepted' | 'skipped' | 'failed'
  claim: string | null
  claimed_until: Date | null
  attempts: Generated<number>
  session_id: Generated<string>
  prompt_id: string | null
  event: string | null
  headers: Json<Readonly<Record<string, string>>>
  payload_bytes: number
  /** SHA-256 of the signed content; null if equal bodies are separate deliveries. */
  signed_digest: Buffer | null
  error: string | null
  received_at: DefaultTime
  finished_at: Date | null
}

/** Table `webhook_payloads`: encrypted payloads of deliveries, unless too long to store. */
interface WebhookPayloadTable extends EncryptedValue {
  agent_id: string
  delivery_id: string
}

/** Table `responses`: answers in the Responses format that a caller may continue. */
interface ResponseTable {
  principal: string
  id: string
  deployment: string
  previous_id: string | null
  is_translated: boolean
  created_at: DefaultTime
  expires_at: Date
}

/** Table `response_contents`: encrypted requests and answers of stored responses. */
interface ResponseContentTable extends EncryptedValue {
  principal: string
  id: string
}

/** Table `response_cache`: encrypted answers for repeated requests. */
interface ResponseCacheTable extends EncryptedValue {
  principal: string
  id: string
  bytes: number
  created_at: DefaultTime
  expires_at: Date
}

/** Table `webhook_conversations`: session of an issue or a thread. */
export interface WebhookConversationTable {
  agent_id: string
  key: Buffer
  session_id: string | null
  created_at: DefaultTime
}

/** Table `schedules`: scheduled prompts. */
export interface ScheduleTable {
  id: string
  owner_id: string
  principal: string
  key_id: string | null
  name: string
  agent_id: string
  cron: string
  timezone: string
  prompt: string
  session: 'new' | 'same'
  session_id: string | null
  overlap: 'skip' | 'queue' | 'allow'
  missed: 'skip' | 'once' | 'all'
  missed_limit: number
  status: 'active' | 'paused'
  next_due_at: Date | null
  created_at: DefaultTime
  updated_at: DefaultTime
}

/** Table `schedule_runs`: one row per tick of a schedule or manual run. */
export interface ScheduleRunTable {
  schedule_id: string
  due_at: Date
  id: string
  cause: 'tick' | 'missed' | 'manual'
  state: 'queued' | 'started' | 'skipped' | 'failed'
  reason: string | null
  session_id: string | null
  prompt_id: string | null
  is_open: boolean
  created_at: DefaultTime
}

/** Table `webhook_endpoints`: receivers of session events. */
export interface WebhookEndpointTable {
  id: string
  owner_id: string | null
  url: string
  description: string | null
  events: readonly string[]
  agent_ids: readonly string[]
  status: 'active' | 'paused' | 'disabled'
  disabled_reason: string | null
  failing_since: Date | null
  created_at: DefaultTime
  updated_at: DefaultTime
}

/** Table `webhook_endpoint_secrets`: encrypted signing secrets of webhook endpoints. */
export interface WebhookEndpointSecretTable extends EncryptedValue {
  endpoint_id: string
  id: string
  valid_until: Date | null
  created_at: DefaultTime
}

/** Table `webhook_cursors`: position of an endpoint in the log of a session. */
export interface WebhookCursorTable {
  endpoint_id: string
  session_id: string
  seq: number
  attempts: Generated<number>
  ready_at: Date | null
  claim: string | null
}

/** Table `a2a_push_configs`: receivers of the changes of tasks, and their positions in the logs. */
export interface A2aPushConfigTable extends EncryptedValue {
  task_id: string
  id: string
  session_id: string
  url: string
  host: string
  scheme: string | null
  run_as_key_id: string | null
  state: 'active' | 'done' | 'stopped'
  seq: number
  has_task: Generated<boolean>
  attempts: Generated<number>
  ready_at: Date | null
  claim: string | null
  created_at: DefaultTime
}

/** Table `webhook_endpoint_deliveries`: result of each sent event. */
export interface WebhookEndpointDeliveryTable {
  id: string
  endpoint_id: string
  session_id: string
  seq: number
  event_id: string
  event_type: string
  state: 'pending' | 'delivered' | 'dead'
  attempts: number
  http_status: number | null
  error: string | null
  duration_ms: number
  next_attempt_at: Date | null
  created_at: DefaultTime
  finished_at: Date | null
}

/** Table `environments`: environments of the Managed Agents dialect. */
export interface EnvironmentTable {
  id: string
  owner_id: string
  name: string
  description: string | null
  config: Json<JsonObject>
  metadata: Json<Readonly<Record<string, string>>>
  archived_at: Date | null
  created_at: DefaultTime
  updated_at: DefaultTime
}

/** Table `dialect_sessions`: fields of a session in the Managed Agents dialect. */
export interface DialectSessionTable {
  session_id: string
  environment_id: Generated<string>
  vault_ids: Generated<string[]>
  is_untitled: Generated<boolean>
  archived_at: Date | null
  updated_at: DefaultTime
}

/** Table `session_metadata`: metadata that clients set on sessions. */
export interface SessionMetadataTable {
  session_id: string
  metadata: ColumnType<Readonly<Record<string, string>>, string, string>
}

/** Table `replicas`: one row per process that shares the database. */
export interface ReplicaTable {
  id: string
  seen_at: Date
  /** Where it runs sessions; null if it runs none. */
  data_folder: string | null
}

/** Every table of the migrations, for Kysely. int8 is a number, timestamptz a Date (see `createPool`). */
export interface Database {
  agents: AgentTable
  agent_versions: AgentVersionTable
  skills: SkillTable
  sessions: SessionTable
  workspace_checkpoints: WorkspaceCheckpointTable
  workspace_blobs: WorkspaceBlobTable
  workspace_refs: WorkspaceRefTable
  session_files: SessionFileTable
  workspace_objects: WorkspaceObjectTable
  prompts: PromptTable
  session_events: SessionEventTable
  stream_tickets: StreamTicketTable
  usage: UsageTable
  schedules: ScheduleTable
  schedule_runs: ScheduleRunTable
  webhook_endpoints: WebhookEndpointTable
  webhook_endpoint_secrets: WebhookEndpointSecretTable
  webhook_cursors: WebhookCursorTable
  a2a_push_configs: A2aPushConfigTable
  webhook_endpoint_deliveries: WebhookEndpointDeliveryTable
  idempotency_keys: IdempotencyKeyTable
  vault_entries: VaultEntryTable
  service_secrets: ServiceSecretTable
  provider_credentials: ProviderCredentialTable
  deployments: DeploymentTable
  runtime_credentials: RuntimeCredentialTable
  runtime_harnesses: RuntimeHarnessTable
  runtime_health: RuntimeHealthTable
  mcp_servers: McpServerTable
  mcp_server_states: McpServerStateTable
  mcp_calls: McpCallTable
  mcp_authorizations: McpAuthorizationTable
  mcp_logins: McpLoginTable
  audit_log: AuditLogTable
  api_keys: ApiKeyTable
  api_key_hashes: ApiKeyHashTable
  budgets: BudgetTable
  freezes: FreezeTable
  reservations: ReservationTable
  webhook_deliveries: WebhookDeliveryTable
  webhook_payloads: WebhookPayloadTable
  responses: ResponseTable
  response_contents: ResponseContentTable
  response_cache: ResponseCacheTable
  webhook_conversations: WebhookConversationTable
  memories: MemoryTable
  session_memories: SessionMemoriesTable
  environments: EnvironmentTable
  dialect_sessions: DialectSessionTable
  session_metadata: SessionMetadataTable
  replicas: ReplicaTable
}
