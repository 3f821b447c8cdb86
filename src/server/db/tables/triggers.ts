import type { Generated } from 'kysely'
import type { DefaultTime, EncryptedValue, Json } from './columns.ts'

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
export interface WebhookPayloadTable extends EncryptedValue {
  agent_id: string
  delivery_id: string
}

/** Table `webhook_counts`: requests of senders that have no delivery. */
export interface WebhookCountTable {
  agent_id: string
  hour: Date
  kind: 'invalid_token' | 'invalid_signature' | 'rate_limited' | 'duplicate'
  count: string
  last_at: Date
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
