import type { ColumnType, Generated } from 'kysely'
import type { AgentStatus } from '../../contract/agents.ts'
import type { PromptMode, PromptPart, PromptState, SandboxStatus } from '../../contract/sessions.ts'

/** A `json` column: read as the value, written as JSON text, since pg would send an array as a PostgreSQL array. */
type Json<T = unknown> = ColumnType<T, string, string>

/** A time that the statement may leave to the database clock. */
type DefaultTime = ColumnType<Date, Date | undefined, Date>

type JsonObject = Readonly<Record<string, unknown>>

/** Table `agents`: one row an agent, as its current version. */
export interface AgentTable {
  id: string
  owner_id: string
  name: string
  model: string
  system: string
  description: string | null
  harness: string
  tools: Json
  config: Json<JsonObject>
  status: Generated<AgentStatus>
  version: Generated<number>
  created_at: DefaultTime
}

/** Table `agent_versions`: one row a change of an agent; `snapshot` is the agent as it was then. */
export interface AgentVersionTable {
  agent_id: string
  version: number
  snapshot: Json
  created_at: DefaultTime
}

/** Table `sessions`: one row a session, with its lease and the counters of its queue and its log. */
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
  environment: Json<JsonObject>
  timezone: string | null
  next_seq: Generated<number>
  log_bytes: Generated<number>
  next_position: Generated<number>
  fence: Generated<number>
  lease_owner: string | null
  lease_until: Date | null
  last_outcome: 'completed' | 'failed' | 'cancelled' | null
  sandbox_status: Generated<SandboxStatus>
  deleted_at: Date | null
  created_at: DefaultTime
  updated_at: DefaultTime
}

/** Table `prompts`: the queue of each session, finished prompts included. */
export interface PromptTable {
  id: string
  session_id: string
  position: number
  parts: Json<PromptPart[]>
  model: string
  system: string | null
  mode: PromptMode
  state: Generated<PromptState>
  message_id: string | null
  principal: string
  run_id: string | null
  resumes: Generated<number>
  stop_requested: Generated<boolean>
  created_at: DefaultTime
  started_at: Date | null
  ended_at: Date | null
}

/** Table `session_events`: the log of each session; `seq` has no gap. */
export interface SessionEventTable {
  session_id: string
  seq: number
  id: string
  type: string
  payload: Json<JsonObject>
  fence: number
  created_at: DefaultTime
}

/** Table `stream_tickets`: the hashes of tickets that open an event stream once. */
export interface StreamTicketTable {
  hash: Buffer
  session_id: string
  principal: string
  expires_at: Date
}

/** Table `usage`: one row a model call. */
export interface UsageTable {
  id: string
  request_id: string
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
  outcome: 'completed' | 'failed' | 'aborted'
  stop_reason: string | null
  status: number | null
  attempts: number
  input_tokens: number
  cache_read_tokens: number
  cache_write_5m_tokens: number
  cache_write_1h_tokens: number
  output_tokens: number
  estimated: boolean
  /** US dollars as an exact decimal; null when the price is not known. */
  cost_usd: string | null
  degraded: string | null
  first_content_ms: number | null
  total_ms: number
  created_at: DefaultTime
}

/** Table `idempotency_keys`: the answers of requests that may be sent again. */
export interface IdempotencyKeyTable {
  principal: string
  route: string
  key: string
  body_hash: Buffer
  /** Null while the first request is still at work. */
  response: ColumnType<unknown, string | null | undefined, string | null>
  created_at: DefaultTime
}

/** Every table of the migrations, for Kysely. int8 is a number, timestamptz a Date (see `createPool`). */
export interface Database {
  agents: AgentTable
  agent_versions: AgentVersionTable
  sessions: SessionTable
  prompts: PromptTable
  session_events: SessionEventTable
  stream_tickets: StreamTicketTable
  usage: UsageTable
  idempotency_keys: IdempotencyKeyTable
}
