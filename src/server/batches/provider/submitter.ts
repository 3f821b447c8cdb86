import { randomUUID } from 'node:crypto'
import type { Budgets } from '../../budgets/budgets.ts'
import type { BatchApi, BatchTarget } from '../../gateway/batching/batch-api.ts'
import type { Log } from '../../platform/log.ts'
import { untilAborted } from '../../platform/until-aborted.ts'
import type { BatchStore } from '../batch-store.ts'
import { type EndProviderBatch, singly } from './end-provider-batch.ts'
import type { PollWaits } from './follower.ts'
import { lineName } from './line-names.ts'
import type { Preparation, PrepareLine, ReadyLine } from './prepare-line.ts'
import type { ProviderBatchStore, ProviderLine, ProviderOf, Release } from './provider-batch-store.ts'

interface Deps {
  readonly store: ProviderBatchStore
  readonly batches: Pick<BatchStore, 'wait'>
  readonly prepareLine: PrepareLine
  readonly budgets: Pick<Budgets, 'keep' | 'releaseAll'>
  readonly end: EndProviderBatch
  readonly api: Pick<BatchApi, 'submit'>
  readonly providerOf: ProviderOf
  /** Returns the status of an error answer of a provider; undefined for any other error. */
  readonly statusOf: (error: unknown) => number | undefined
  /** Lines that are prepared at once. */
  readonly maxCalls: () => number
  readonly isPressed: () => boolean
  readonly waits: PollWaits
  readonly log: Pick<Log, 'warn'>
}

type Collected = BatchTarget & { readonly id: string; readonly batch_id: string; readonly claim: string }

/** Limits of one provider batch, far below those of the providers: its requests are in memory until they are submitted. */
const maxRequests = 10_000
const maxBytes = 16 * 1024 * 1024
const budgetWaitMs = 2_000
/** Reservations outlast the batch of the provider by this time. */
const keptMs = 27 * 60 * 60 * 1_000

const unsent: Release = { waitMs: 0, isTry: false, isSingle: false }

/** Creates the function that submits waiting lines of one target as a provider batch; false when there are none. */
export function createSubmitter(deps: Deps) {
  const { store, batches, prepareLine, budgets, end, api, waits, log } = deps

  /** Prepares lines, a few at a time. */
  async function preparedOf(lines: readonly ProviderLine[], target: BatchTarget, signal: AbortSignal) {
    const waiting = [...lines]
    const prepared: Preparation[] = []
    const work = async (): Promise<void> => {
      for (let line = waiting.shift(); line; line = waiting.shift())
        prepared.push(await prepareLine(line, target, signal))
    }
    await Promise.all(Array.from({ length: deps.maxCalls() }, work))
    return prepared
  }

  const releaseReserved = (prepared: readonly Preparation[]): Promise<void> =>
    budgets.releaseAll(prepared.flatMap(reservedBy))

  /** Stores what a page of lines needs for its answers, and releases the others. Returns true when more lines may follow. */
  async function storePage(batch: Collected, prepared: readonly Preparation[], expiresAt: Date): Promise<boolean> {
    const ready = prepared.filter(entry => entry.kind === 'ready')
    const lines = ready.map(({ line: { seq }, requestId, request, changed }) => {
      const reserved_usd = request.reservedUsd ?? null
      return { seq, request_id: requestId, prepared: changed, reserved_usd }
    })
    try {
      if (lines.length > 0) await store.prepare(batch, lines)
      const kept = ready.map(({ requestId }) => requestId)
      await budgets.keep(kept, new Date(expiresAt.getTime() + keptMs))
    } catch (error) {
      await releaseReserved(prepared)
      throw error
    }
    for (const entry of prepared) await releaseOne(batch, entry)
    const blocked = prepared.find(entry => entry.kind === 'waiting')
    if (blocked?.kind === 'waiting')
      await batches.wait(batch.batch_id, { waitMs: budgetWaitMs, reason: blocked.reason })
    return !prepared.some(({ kind }) => kind === 'waiting' || kind === 'later')
  }

  async function releaseOne(batch: Collected, entry: Preparation): Promise<void> {
    if (entry.kind === 'ready') return
    if (entry.kind === 'single') await budgets.releaseAll(reservedBy(entry))
    await store.release(batch, [entry.line.seq], releaseOf(entry))
  }

  /** Collects lines of one target until there are no more, or enough. */
  async function collect(batch: Collected, signal: AbortSignal): Promise<ReadyLine[]> {
    const collected: ReadyLine[] = []
    let bytes = 0
    let isOpen = true
    while (isOpen && collected.length < maxRequests && bytes < maxBytes && !signal.aborted && !deps.isPressed()) {
      const lines = await store.take(batch)
      const [line] = lines
      if (!line) break
      const prepared = await preparedOf(lines, batch, signal)
      isOpen = await storePage(batch, prepared, line.expires_at)
      for (const entry of prepared) {
        if (entry.kind !== 'ready') continue
        collected.push(entry)
        bytes += entry.request.body.length
      }
    }
    return collected
  }

  /** Submits collected lines. An answer that was lost is looked up later. */
  async function submit(batch: Collected, lines: readonly ReadyLine[], signal: AbortSignal): Promise<void> {
    const [first] = lines
    const provider = first && deps.providerOf({ ...batch, protocol: first.request.protocol })
    if (!first || !provider || signal.aborted) return end(batch, unsent)
    const { protocol, path } = first.request
    if (!(await store.submitting(batch, { lines: lines.length, protocol }))) return end(batch, unsent)
    const requests = lines.map(({ line, request: { headers, body } }) => {
      return { name: lineName(batch.id, line.seq), headers, body }
    })
    try {
      const providerId = await untilAborted(api.submit(provider, { id: batch.id, path, requests }), signal, stopped)
      await store.submitted(batch, { providerId, waitMs: waits.poll(0) })
    } catch (cause) {
      await rejected(batch, cause)
    }
  }

  async function rejected(batch: Collected, cause: unknown): Promise<void> {
    const status = deps.statusOf(cause)
    const fields = { err: cause, batch_id: batch.batch_id, deployment: batch.deployment }
    if (status === 429) {
      log.warn(fields, 'a provider takes no more batches for now; retrying')
      return end(batch, { waitMs: waits.full, isTry: true, isSingle: false })
    }
    if (status !== undefined && status < 500 && status !== 408) {
      log.warn(fields, 'a provider rejected a batch; its requests are made singly')
      return end(batch, singly)
    }
    log.warn(fields, 'the submission of a batch to a provider was interrupted; looking it up')
    await store.poll(batch, { waitMs: waits.findAgain, isCancelled: false })
  }

  return {
    /** `keeping` renews the claim during the work. */
    async next(keeping: (batch: Collected, work: (signal: AbortSignal) => Promise<void>) => Promise<void>) {
      const target = deps.isPressed() ? undefined : await store.waiting()
      if (!target) return false
      const batch = { ...target, id: randomUUID(), claim: randomUUID() }
      await store.insert(batch)
      await keeping(batch, async signal => submit(batch, await collect(batch, signal), signal))
      return true
    },
  }
}

const stopped = () => new Error('this process stops')

const reservedBy = (entry: Preparation): readonly string[] => {
  if (entry.kind === 'ready') return [entry.requestId]
  return entry.kind === 'single' && entry.reserved !== undefined ? [entry.reserved] : []
}

function releaseOf(entry: Exclude<Preparation, { readonly kind: 'ready' }>): Release {
  switch (entry.kind) {
    case 'single':
      return singly
    case 'later':
      return { ...unsent, waitMs: entry.waitMs }
    case 'waiting':
      return unsent
  }
}
