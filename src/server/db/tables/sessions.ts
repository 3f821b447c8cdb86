import type { ColumnType, Generated } from 'kysely'
import type { Outcome, OutcomeState } from '../../../contract/outcomes.ts'
import type { PromptKind, PromptMode, PromptPart, PromptState } from '../../../contract/prompts.ts'
import type { SessionRepository } from '../../../contract/repositories.ts'
import type { SandboxStatus } from '../../../contract/sessions.ts'
import type { DefaultTime, Json, JsonObject } from './columns.ts'

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

/** Table `prompts`: queue of each session, including finished prompts. */
export interface PromptTable {
  id: string
  session_id: string
  position: number
  parts: Json<PromptPart[]>
  model: string
  system: string | null
  output_schema: ColumnType<Readonly<Record<string, unknown>> | null, string | null | undefined, string | null>
  outcome: ColumnType<Outcome | null, string | null | undefined, string | null>
  outcome_state: ColumnType<OutcomeState | null, string | null | undefined, string | null>
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
  /** Trace context of the request that sent it; null without one. */
  traceparent: ColumnType<string | null, string | null | undefined, string | null>
  tracestate: ColumnType<string | null, string | null | undefined, string | null>
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

/** Table `session_metadata`: metadata that clients set on sessions. */
export interface SessionMetadataTable {
  session_id: string
  metadata: ColumnType<Readonly<Record<string, string>>, string, string>
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

/** Table `replicas`: one row per process that shares the database. */
export interface ReplicaTable {
  id: string
  seen_at: Date
  /** Where it runs sessions; null if it runs none. */
  data_folder: string | null
}
