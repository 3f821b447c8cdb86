import type { SessionRepository } from '../../contract/repositories.ts'
import type { ManagedSession, SandboxStatus, Session } from '../../contract/sessions.ts'
import type { MetadataMap } from '../platform/metadata.ts'
import type { ProviderRefs } from '../runtimes/runtime.ts'
import { type SessionFacts, statusOf } from './status.ts'

export interface NewSession {
  readonly id: string
  readonly owner_id: string
  readonly title: string
  readonly agent: string
  readonly agent_id: string
  readonly agent_version: number | null
  readonly harness: string
  readonly runtime: string
  readonly environment: Readonly<Record<string, unknown>>
  readonly timezone: string | null
  /** The session whose agent called this one's, its parent and so on; empty for a session that a caller created. */
  readonly ancestors: readonly string[]
}

/** Columns of a session that its run needs. */
export interface RunRow extends Omit<NewSession, 'agent' | 'harness'> {
  readonly runtime_agent_ref_id: string | null
  readonly provider_session_id: string | null
  readonly provider_run_id: string | null
  readonly runtime_state: ProviderRefs['runtime_state']
  /** The repository in its files; null before it is cloned. */
  readonly repository: SessionRepository | null
  /** Id of the data folder in which its tools ran last; null when no tool has run. */
  readonly data_folder: string | null
  /** Last checkpoint of its files; null before the first. */
  readonly checkpoint_id: string | null
  /** Last event of the part that was copied from another session; null when it is not a fork. */
  readonly forked_at_seq: number | null
  readonly log_bytes: number
  readonly next_seq: number
}

/** A session with columns that are internal to the engine. */
export interface SessionRow extends NewSession, RunRow {
  readonly sandbox_status: SandboxStatus
  readonly deleted_at: Date | null
  /** When its log was purged; null while the log is readable. */
  readonly purged_at: Date | null
  /** The session that it was forked from, and the last event that was copied. */
  readonly forked_from_id: string | null
  readonly forked_from_seq: number | null
  readonly created_at: Date
  readonly updated_at: Date
  readonly is_running: boolean
  readonly unfinished: number
  /** True while a tool call waits for approval. */
  readonly awaits_answer: boolean
  /** True while a budget stops the first prompt in the queue. */
  readonly paused: boolean
  readonly last_outcome: SessionFacts['lastOutcome']
  readonly metadata: MetadataMap
}

/** The columns of a `RunRow`. None is a date, because the row is also read as JSON. */
export const runColumns = `
  s.id, s.owner_id, s.title, s.agent_id, s.agent_version, s.runtime, s.runtime_agent_ref_id, s.provider_session_id,
  s.provider_run_id, s.runtime_state, s.repository, s.environment, s.timezone, s.ancestors, s.data_folder, s.checkpoint_id,
  s.forked_at_seq,
  s.log_bytes, s.next_seq`

/** Returns what the runtime stores of the session, such as the ids that the provider uses. */
export const refsOf = (row: ProviderRefs): ProviderRefs => ({
  runtime_agent_ref_id: row.runtime_agent_ref_id,
  provider_session_id: row.provider_session_id,
  provider_run_id: row.provider_run_id,
  runtime_state: row.runtime_state,
  ...(row.repository && { repository: row.repository }),
})

/** Returns the public record of a session. */
export const toSession = (row: SessionRow): Session => ({
  id: row.id,
  title: row.title,
  agent: row.agent,
  agent_id: row.agent_id,
  agent_version: row.agent_version,
  harness: row.harness,
  runtime: row.runtime,
  runtime_agent_ref_id: row.runtime_agent_ref_id,
  provider_session_id: row.provider_session_id,
  provider_run_id: row.provider_run_id,
  status: statusOf({
    isRunning: row.is_running,
    awaitsAnswer: row.awaits_answer,
    waitingPrompts: row.unfinished,
    lastOutcome: row.last_outcome,
  }),
  environment: row.environment as Session['environment'],
  ...(row.repository && { repository: row.repository }),
  metadata: row.metadata,
  timezone: row.timezone,
  forked_from: row.forked_from_id === null ? null : { session_id: row.forked_from_id, seq: row.forked_from_seq ?? 0 },
  parent_session_id: row.ancestors[0] ?? null,
  time: { created: row.created_at.getTime(), updated: row.updated_at.getTime() },
})

/** Returns the record with the state of the sandbox. `workspace` is the folder of its files. */
export const toManagedSession = (row: SessionRow, workspace: string | null): ManagedSession => ({
  ...toSession(row),
  sandbox_status: row.sandbox_status,
  workspace: row.sandbox_status === 'dead' ? null : workspace,
})
