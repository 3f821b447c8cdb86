import { randomUUID } from 'node:crypto'
import type { Log } from '../platform/log.ts'
import { every } from '../platform/timers.ts'
import type { Sessions } from '../sessions/sessions.ts'
import type { EndCase } from './case-ends.ts'
import type { RunStore } from './run-store.ts'

interface Deps {
  readonly store: RunStore
  /** Starts one case; returns false when none can start. */
  readonly startCase: () => Promise<boolean>
  readonly endCase: EndCase
  readonly sessions: Pick<Sessions, 'halt'>
  readonly log: Pick<Log, 'warn'>
}

const periodMs = 500
/** Sessions to stop are searched in every fourth poll. */
const stopEvery = 4
/** Cases that a process grades at a time: each may run a command or call a judge. */
const maxGrading = 16
/** Cases that a process starts in one poll. */
const maxStarts = 100

/** Runs experiments. */
export interface ExperimentRuns {
  /** Does everything that is due; other processes may share the work. */
  poll(): Promise<void>
  /** Polls twice a second. */
  start(): void
  /** Waits for the work in flight. */
  stop(): Promise<void>
}

/**
 * Polls the database for cases to start, to stop and to grade. Rows are locked while they change, and a case is started in
 * the transaction that creates its session, so that any process can continue an experiment at any time, and each case
 * runs once.
 */
export function createExperimentRuns({ store, startCase, endCase, sessions, log }: Deps): ExperimentRuns {
  const stopping = new AbortController()
  const grading = new Set<Promise<void>>()
  let polls = 0
  let stopTimer: (() => Promise<void>) | undefined

  async function startCases(): Promise<void> {
    for (let count = 0; count < maxStarts && !stopping.signal.aborted; count++) if (!(await startCase())) return
  }

  async function stopSessions(): Promise<void> {
    for (const ended of await store.toStop()) {
      await store.setStopReason(ended)
      await sessions.halt(ended.session_id, { keyIds: undefined, reason: reasons[ended.reason] })
    }
  }

  async function gradeEnded(): Promise<void> {
    const room = maxGrading - grading.size
    if (room === 0 || stopping.signal.aborted) return
    const claim = randomUUID()
    for (const ended of await store.claimEnded(claim, room)) {
      const work = endCase(ended, claim, stopping.signal)
        // The claim expires, and a process grades the case again.
        .catch((cause: unknown) =>
          log.warn({ err: cause }, 'grading of a case was interrupted; it is repeated in 30 s'),
        )
        .finally(() => grading.delete(work))
      grading.add(work)
    }
  }

  async function poll(): Promise<void> {
    if (!(await store.isAnyOpen())) return
    if (polls++ % stopEvery === 0) await stopSessions()
    await gradeEnded()
    await startCases()
    await store.endFinished()
  }

  return {
    poll,
    start() {
      stopTimer = every(periodMs, () =>
        poll().catch((cause: unknown) => log.warn({ err: cause }, 'cannot run experiments; retrying in the next poll')),
      )
    },
    async stop() {
      stopping.abort()
      await stopTimer?.()
      await Promise.all(grading)
    },
  }
}

const reasons = {
  cancelled: 'the experiment was cancelled',
  timed_out: 'the case of the experiment took too long',
  budget_reached: 'the case of the experiment has used its part of the budget',
  approval_required: 'a tool call requires an approval, for which an experiment does not wait',
} as const
