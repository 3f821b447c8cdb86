import { randomUUID } from 'node:crypto'
import type { Log } from '../../platform/log.ts'
import { every } from '../../platform/timers.ts'
import { keepClaim } from '../keep-claim.ts'
import type { createFollower } from './follower.ts'
import type { ClaimedProviderBatch, ProviderBatchStore } from './provider-batch-store.ts'
import type { createSubmitter } from './submitter.ts'

interface Deps {
  readonly store: Pick<ProviderBatchStore, 'claim' | 'renew'>
  readonly submitter: ReturnType<typeof createSubmitter>
  readonly follow: ReturnType<typeof createFollower>
  /** Called when lines may be ready to be called singly. */
  readonly onReady: () => void
  readonly log: Pick<Log, 'warn'>
  /** Interval of polls for work; 1,000 by default. */
  readonly periodMs?: number
}

/** Submits lines to the batch APIs of providers, and follows those batches. One process works on a batch at a time. */
export function createProviderRunner({ store, submitter, follow, onReady, log, periodMs = 1_000 }: Deps) {
  const stopping = new AbortController()
  let timers: (() => Promise<void>)[] = []

  async function keeping(
    batch: Pick<ClaimedProviderBatch, 'id' | 'batch_id' | 'claim'>,
    work: (signal: AbortSignal) => Promise<void>,
  ): Promise<void> {
    try {
      await keepClaim({ renew: () => store.renew(batch), signal: stopping.signal }, work)
    } finally {
      onReady()
    }
  }

  async function submitAll(): Promise<void> {
    while (!stopping.signal.aborted && (await submitter.next(keeping)));
  }

  async function followAll(): Promise<void> {
    while (!stopping.signal.aborted) {
      const batch = await store.claim(randomUUID())
      if (!batch) return
      await keeping(batch, signal => follow(batch, signal))
    }
  }

  const attempt = (work: () => Promise<void>) => async (): Promise<void> => {
    await work().catch((cause: unknown) => {
      if (!stopping.signal.aborted)
        log.warn({ err: cause }, 'cannot work on provider batches; retrying in the next poll')
    })
  }

  return {
    start(): void {
      timers = [every(periodMs, attempt(submitAll)), every(periodMs, attempt(followAll))]
    },
    async stop(): Promise<void> {
      stopping.abort()
      await Promise.all(timers.map(stopTimer => stopTimer()))
    },
  }
}
