import type { SessionThread } from '../../contract/managed-threads.ts'
import { type SessionParts, toDialectSession } from './session-object.ts'

/** Returns a session as a thread of the session `sessionId`: of itself, or of one above it. */
export function toThread(sessionId: string, parts: SessionParts): SessionThread {
  const { id, agent, status, stats, usage, created_at, updated_at, archived_at } = toDialectSession(parts)
  const { multiagent: _roster, ...thread } = agent
  const isPrimary = id === sessionId
  return {
    id,
    type: 'session_thread',
    session_id: sessionId,
    parent_thread_id: isPrimary ? null : (parts.session.parent_session_id ?? null),
    agent: thread,
    status,
    // Sessions of called agents start at once.
    stats: { ...stats, startup_seconds: 0 },
    usage,
    workflow_run_id: null,
    created_at,
    updated_at,
    archived_at,
  }
}
