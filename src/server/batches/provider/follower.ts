import type { BatchApi, BatchProvider } from '../../gateway/batching/batch-api.ts'
import type { Log } from '../../platform/log.ts'
import { untilAborted } from '../../platform/until-aborted.ts'
import { type EndProviderBatch, singly } from './end-provider-batch.ts'
import type { ClaimedProviderBatch, ProviderBatchStore, ProviderOf, Release } from './provider-batch-store.ts'
import type { TakeResults } from './take-results.ts'

interface Deps {
  readonly store: ProviderBatchStore
  readonly end: EndProviderBatch
  readonly api: BatchApi
  readonly takeResults: TakeResults
  readonly providerOf: ProviderOf
  /** Returns the status of an error answer of a provider; undefined for any other error. */
  readonly statusOf: (error: unknown) => number | undefined
  readonly waits: PollWaits
  readonly log: Pick<Log, 'warn'>
}

/** Waits of provider batches, in milliseconds. */
export interface PollWaits {
  /** Before a poll, by the number of polls before. */
  readonly poll: (polls: number) => number
  /** Of a batch that is being cancelled. */
  readonly cancelled: number
  /** Before an interrupted submission is looked up, and again while that is unsure. */
  readonly findAgain: number
  /** For room in the queue of a provider. */
  readonly full: number
  /** Age of an interrupted submission that the provider must have listed by then. */
  readonly listed: number
}

const firstPollMs = 2_000
const maxPollMs = 300_000

/** 2 s at first, since small batches end soon, and up to 5 minutes. */
export const pollWaits: PollWaits = {
  poll: polls => Math.min(firstPollMs * 2 ** polls, maxPollMs),
  cancelled: 10_000,
  findAgain: 60_000,
  full: 600_000,
  listed: 300_000,
}

const again: Release = { waitMs: 0, isTry: true, isSingle: false }

/** Creates the function that follows a claimed provider batch one step. */
export function createFollower({ store, end, api, takeResults, providerOf, statusOf, waits, log }: Deps) {
  const later = (batch: ClaimedProviderBatch, waitMs = waitOf(batch)) =>
    store.poll(batch, { waitMs, isCancelled: batch.is_closing })

  const waitOf = ({ is_closing, polls }: ClaimedProviderBatch): number =>
    is_closing ? waits.cancelled : waits.poll(polls)

  /** Looks up a batch whose submission was interrupted. Only when the provider does not have it, it is submitted again. */
  async function findAgain(batch: ClaimedProviderBatch, provider: BatchProvider): Promise<void> {
    const submittedAt = batch.submitted_at ?? batch.created_at
    const interrupted = { id: batch.id, size: batch.lines, submittedAt, isOther: store.isKnown }
    const found = await api.find(provider, interrupted)
    if (typeof found === 'object') await store.submitted(batch, { providerId: found.id, waitMs: 0 })
    else if (found === 'unsure' || Date.now() - submittedAt.getTime() < waits.listed)
      await later(batch, waits.findAgain)
    else await end(batch, again)
  }

  async function poll(batch: ClaimedProviderBatch, provider: BatchProvider, signal: AbortSignal): Promise<void> {
    const id = batch.provider_id ?? ''
    if (batch.is_closing) await cancel(provider, id)
    switch (await api.state(provider, id)) {
      case 'running':
        await later(batch)
        break
      case 'ended':
        if (await takeResults(batch, provider, signal)) await end(batch, singly)
        else await later(batch)
        break
      case 'failed':
        log.warn(
          { batch_id: batch.batch_id, provider_batch: id },
          'a batch failed at its provider; its requests are made singly',
        )
        await end(batch, singly)
        break
      case 'full':
        await end(batch, { ...again, waitMs: waits.full })
        break
    }
  }

  /** Cancels a batch; again with each poll, since an error answer may also mean that it has ended meanwhile. */
  async function cancel(provider: BatchProvider, id: string): Promise<void> {
    await api.cancel(provider, id).catch((cause: unknown) => {
      if (statusOf(cause) === undefined) throw cause
    })
  }

  async function step(batch: ClaimedProviderBatch, signal: AbortSignal): Promise<void> {
    // Its process has exited before it submitted anything.
    if (batch.state === 'collecting') return end(batch, { ...again, isTry: false })
    const provider = providerOf(batch)
    if (!provider || batch.is_overdue) {
      const why = provider ? 'its provider has not ended it in time' : 'its deployment was removed'
      log.warn({ batch_id: batch.batch_id, deployment: batch.deployment }, `gave up a provider batch: ${why}`)
      return end(batch, singly)
    }
    return batch.state === 'submitting' ? findAgain(batch, provider) : poll(batch, provider, signal)
  }

  return async (batch: ClaimedProviderBatch, signal: AbortSignal): Promise<void> => {
    try {
      await untilAborted(step(batch, signal), signal, () => new Error('this process stops'))
    } catch (cause) {
      if (signal.aborted) return void (await later(batch, 0))
      const fields = { err: cause, batch_id: batch.batch_id, deployment: batch.deployment }
      // Of a provider that no longer has the batch, or that lists none.
      if (statusOf(cause) === 404) {
        log.warn(fields, 'a provider does not know a batch; its requests are made singly')
        return end(batch, singly)
      }
      log.warn(fields, 'cannot follow a batch at its provider; retrying')
      await later(batch)
    }
  }
}
