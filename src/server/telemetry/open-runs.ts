import { awaitedApprovals, budgetReached, isOfThread, type SessionEvent } from '../../contract/events.ts'
import { Recent } from '../platform/recent.ts'

/** How a run ended here. `paused`: it waits for a person or a budget and continues later, maybe in another process. */
export type RunOutcome = 'completed' | 'failed' | 'paused'

/** A run of a session in this process. */
export interface OpenRun {
  readonly runId: string
  readonly promptId: string | undefined
  /** Undefined for a run that another process started, or that was paused. */
  readonly startMs: number | undefined
}

export interface EndedRun extends OpenRun {
  readonly endMs: number
  readonly outcome: RunOutcome
}

interface Entry extends OpenRun {
  readonly isOver: boolean
}

/** Sessions whose last run is remembered; a process runs far fewer at once. The oldest are forgotten. */
const maxSessions = 10_000

/** Follows the runs of sessions by their events. */
export interface OpenRuns {
  /** Returns the run that the event ends; undefined for other events. */
  note(sessionId: string, event: SessionEvent): EndedRun | undefined
  /** Returns the run of a session in this process. */
  of(sessionId: string): OpenRun | undefined
}

export function createOpenRuns(): OpenRuns {
  const last = new Recent<Entry>(maxSessions)

  return {
    of(sessionId) {
      const entry = last.get(sessionId)
      return entry?.isOver ? undefined : entry
    },
    note(sessionId, event) {
      const runId = event.run_id ?? undefined
      if (runId === undefined || isOfThread(event)) return undefined
      const atMs = Date.parse(event.processed_at)
      const known = last.get(sessionId)
      const run = known?.runId === runId ? known : undefined
      if (event.type === 'session.status_running') {
        if (!run) last.set(sessionId, { runId, promptId: event.prompt_id, startMs: atMs, isOver: false })
        return undefined
      }
      const outcome = outcomeOf(event)
      // A failed run may end with an error and a status.
      if (outcome === undefined || run?.isOver) return undefined
      last.set(sessionId, { runId, promptId: event.prompt_id, startMs: undefined, isOver: outcome !== 'paused' })
      return { runId, promptId: event.prompt_id, startMs: run?.startMs, endMs: atMs, outcome }
    },
  }
}

function outcomeOf(event: SessionEvent): RunOutcome | undefined {
  switch (event.type) {
    case 'session.status_idle':
      return awaitedApprovals(event).length > 0 || budgetReached(event) ? 'paused' : 'completed'
    case 'session.error':
      return event.error.retry_status?.type === 'retrying' ? undefined : 'failed'
    default:
      return undefined
  }
}
