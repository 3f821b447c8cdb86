import { randomUUID } from 'node:crypto'
import type { Log } from '../platform/log.ts'
import { every } from '../platform/timers.ts'
import { type BatchJob, type BatchStore, ClaimLost } from './batch-store.ts'
import { keepClaim } from './keep-claim.ts'
import type { LineStore } from './line-store.ts'

/** Result of a job: done, or when and why it is repeated. */
export type JobEnd = 'done' | { readonly waitMs: number; readonly reason: string }

interface Deps {
  readonly store: BatchStore
  readonly lines: Pick<LineStore, 'close' | 'releaseDead'>
  /** Reads an input file, or writes output files. The signal aborts when this process must stop. */
  readonly runJob: (job: BatchJob, signal: AbortSignal) => Promise<JobEnd>
  /** Called when lines have become ready. */
  readonly onReady: () => void
  /** Id of this process. */
  readonly owner: string
  readonly log: Pick<Log, 'warn'>
}

const pollMs = 1_000
const deadMs = 2_000
const abandonedMs = 600_000
/** Wait after a job that failed unexpectedly. */
const failedMs = 10_000

/** Ends batches that were cancelled or have expired, takes over from exited processes, and runs the jobs of batches with files. */
export function createBatchKeeper({ store, lines, runJob, onReady, owner, log }: Deps) {
  const stopping = new AbortController()
  const { signal } = stopping
  let timers: (() => Promise<void>)[] = []

  async function endBatches(): Promise<void> {
    for (const { id, type } of await store.ending())
      while (!signal.aborted && (await lines.close(id, { type, result: null })) > 0);
  }

  /** Runs jobs until none is left. */
  async function runJobs(): Promise<void> {
    while (!signal.aborted) {
      const job = await store.claimJob({ claim: randomUUID(), owner })
      if (!job) return
      await keepClaim({ renew: () => store.renewJob(job), signal }, ofClaim => run(job, ofClaim))
      onReady()
    }
  }

  async function run(job: BatchJob, ofClaim: AbortSignal): Promise<void> {
    try {
      const end = await runJob(job, ofClaim)
      if (end !== 'done') await store.releaseJob(job, end)
    } catch (cause) {
      if (cause instanceof ClaimLost) return
      if (!signal.aborted)
        log.warn({ err: cause, batch_id: job.id }, 'cannot read or write the files of a batch; retrying')
      await store.releaseJob(job, { waitMs: signal.aborted ? 0 : failedMs, reason: null })
    }
  }

  async function takeOver(): Promise<void> {
    if ((await lines.releaseDead(owner)) > 0) onReady()
  }

  const attempt = (work: () => Promise<unknown>) => async (): Promise<void> => {
    await work().catch((cause: unknown) => {
      if (!signal.aborted) log.warn({ err: cause }, 'cannot read batches; retrying in the next poll')
    })
  }

  return {
    start(): void {
      timers = [
        every(pollMs, attempt(endBatches)),
        every(pollMs, attempt(runJobs)),
        every(deadMs, attempt(takeOver)),
        every(abandonedMs, attempt(store.discardAbandoned)),
      ]
    },
    async stop(): Promise<void> {
      stopping.abort()
      await Promise.all(timers.map(stopTimer => stopTimer()))
    },
  }
}
