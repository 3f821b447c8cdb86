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
}

/** What a run needs to know of its session. */
export interface RunRow extends Omit<NewSession, 'agent' | 'harness'> {
  readonly runtime_agent_ref_id: string | null
  readonly provider_session_id: string | null
  readonly provider_run_id: string | null
  readonly runtime_state: ProviderRefs['runtime_state']
  /** Where its tools were last at work; null when none has run on any replica. */
  readonly data_folder: string | null
  /** The last checkpoint of its files; null before the first. */
  readonly checkpoint_id: string | null
  /** The event that says what was copied from another session; null for one that begins anew. */
  readonly forked_at_seq: number | null
  readonly log_bytes: number
  readonly next_seq: number
}

/** A session with what only the engine sees. */
export interface SessionRow extends NewSession, RunRow {
  readonly sandbox_status: SandboxStatus
  readonly deleted_at: Date | null
  /** Since when its log cannot be read; null while it can. */
  readonly purged_at: Date | null
  /** The session that it was forked from, and the last event of that which was copied. */
  readonly forked_from_id: string | null
  readonly forked_from_seq: number | null
  readonly created_at: Date
  readonly updated_at: Date
  readonly held: boolean
  readonly unfinished: number
  /** A tool call waits for a person. */
  readonly asks: boolean
  /** A budget has stopped the prompt that is first in line. */
  readonly paused: boolean
  readonly last_outcome: SessionFacts['lastOutcome']
  readonly metadata: MetadataMap
}

/** The columns of a `RunRow`, none of which is a date: they travel as JSON too. */
export const runColumns = `
  s.id, s.owner_id, s.title, s.agent_id, s.agent_version, s.runtime, s.runtime_agent_ref_id, s.provider_session_id,
  s.provider_run_id, s.runtime_state, s.environment, s.timezone, s.data_folder, s.checkpoint_id, s.forked_at_seq,
  s.log_bytes, s.next_seq`

/** What the provider calls the things of a session. */
export const refsOf = (row: Pick<SessionRow, keyof ProviderRefs>): ProviderRefs => ({
  runtime_agent_ref_id: row.runtime_agent_ref_id,
  provider_session_id: row.provider_session_id,
  provider_run_id: row.provider_run_id,
  runtime_state: row.runtime_state,
})

/** The public record of a session. */
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
    held: row.held,
    asks: row.asks,
    waitingPrompts: row.unfinished,
    lastOutcome: row.last_outcome,
  }),
  environment: row.environment as Session['environment'],
  metadata: row.metadata,
  timezone: row.timezone,
  forked_from: row.forked_from_id === null ? null : { session_id: row.forked_from_id, seq: row.forked_from_seq ?? 0 },
  time: { created: row.created_at.getTime(), updated: row.updated_at.getTime() },
})

/** The record with the state of the sandbox. `workspace`: the folder of its files, while there is one. */
export const toManagedSession = (row: SessionRow, workspace: string | null): ManagedSession => ({
  ...toSession(row),
  sandbox_status: row.sandbox_status,
  workspace: row.sandbox_status === 'dead' ? null : workspace,
})
