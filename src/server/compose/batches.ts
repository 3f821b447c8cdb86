import type { FastifyInstance } from 'fastify'
import type { Pool } from 'pg'
import { createBatchFiles } from '../batches/batch-files.ts'
import { createBatchKeeper } from '../batches/batch-keeper.ts'
import { type BatchPayers, batchStore } from '../batches/batch-store.ts'
import { createBatches } from '../batches/batches.ts'
import { createFileBatches } from '../batches/file-batches.ts'
import { createCallLine } from '../batches/line-call.ts'
import { createLineRunner } from '../batches/line-runner.ts'
import { lineStore } from '../batches/line-store.ts'
import { createMessageBatches } from '../batches/message-batches.ts'
import { createEndProviderBatch } from '../batches/provider/end-provider-batch.ts'
import { createFollower, pollWaits } from '../batches/provider/follower.ts'
import { createPrepareLine } from '../batches/provider/prepare-line.ts'
import { type ProviderBatch, providerBatchStore } from '../batches/provider/provider-batch-store.ts'
import { createProviderRunner } from '../batches/provider/provider-runner.ts'
import { createSubmitter } from '../batches/provider/submitter.ts'
import { createTakeResults } from '../batches/provider/take-results.ts'
import { createTargetOfLine } from '../batches/provider/target-of-line.ts'
import { serveFileBatches, serveMessageBatches } from '../batches/routes.ts'
import type { Budgets } from '../budgets/budgets.ts'
import type { Config } from '../config/config.ts'
import type { Notifications } from '../db/notifications.ts'
import type { Files } from '../files/files.ts'
import type { BatchApi } from '../gateway/batching/batch-api.ts'
import { BatchRejected } from '../gateway/batching/connection.ts'
import type { CallKind } from '../gateway/core/call.ts'
import type { Gateway } from '../gateway/gateway.ts'
import type { Keys } from '../keys/keys.ts'
import type { Part } from '../platform/lifecycle.ts'
import type { Log } from '../platform/log.ts'
import type { LoopDelay } from '../platform/loop-delay.ts'
import type { OpenFiles } from '../platform/open-files.ts'
import type { Usage } from '../usage/usage.ts'

interface Needs {
  readonly pool: Pool
  readonly notifications: Pick<Notifications, 'on' | 'send'>
  readonly log: Log
  /** The configuration that was read last. */
  readonly reloaded: () => Config
  /** Replica id of this process. */
  readonly owner: string
  readonly keys: Pick<Keys, 'workerById'>
  readonly gateway: Pick<Gateway, 'streams' | 'deployment' | 'batchTarget' | 'batchRequest'>
  /** Returns where calls of a kind are made. */
  readonly gatewayOf: (kind: CallKind) => Pick<Gateway, 'call'>
  readonly loop: Pick<LoopDelay, 'meanMs'>
  readonly openFiles: Pick<OpenFiles, 'shortage'>
  readonly files: Files
  readonly publicUrl: () => string
  readonly usage: Pick<Usage, 'flush'>
  readonly budgets: Pick<Budgets, 'keep' | 'releaseAll'>
  /** The batch APIs of providers. */
  readonly providerBatches: BatchApi
}

const channel = 'switchyard_batches'
const maxTries = 8
const maxRetryMs = 300_000

/** Batches of model calls, in Anthropic's and OpenAI's formats. */
export function composeBatches(needs: Needs) {
  const { pool, notifications, log, reloaded, owner, keys, gateway, loop, files } = needs
  const store = batchStore(pool)
  const lines = lineStore(pool)
  const announce = () => notifications.send(channel, '')
  const callLine = createCallLine({
    gatewayOf: needs.gatewayOf,
    keys,
    maxTries,
    retryMs: tries => Math.min(2_000 * 2 ** (tries - 1), maxRetryMs) * (1 + Math.random() / 10),
  })
  // At half of the limits at which calls of clients are rejected.
  const isPressed = () => {
    const { maxStreams, maxLoopDelayMs } = reloaded().limits
    return (
      gateway.streams > maxStreams / 2 ||
      loop.meanMs > maxLoopDelayMs / 2 ||
      pool.waitingCount > 0 ||
      needs.openFiles.shortage !== undefined
    )
  }
  const maxCalls = () => reloaded().limits.batchCalls
  const runner = createLineRunner({
    lines,
    batches: store,
    callLine,
    maxCalls,
    isPressed,
    owner,
    log,
  })
  const targetOf = createTargetOfLine(gateway)
  const runJob = createBatchFiles({ store, lines, targetOf, files })
  const keeper = createBatchKeeper({ store, lines, runJob, onReady: runner.wake, owner, log })
  notifications.on(channel, runner.wake)

  // lines that go to the batch APIs of providers
  const provided = {
    store: providerBatchStore(pool),
    api: needs.providerBatches,
    budgets: needs.budgets,
    statusOf: (error: unknown) => (error instanceof BatchRejected ? error.status : undefined),
    providerOf({ deployment: id, protocol }: Pick<ProviderBatch, 'deployment' | 'protocol'>) {
      const deployment = gateway.deployment(id)
      return deployment && protocol ? { deployment, protocol } : undefined
    },
    waits: pollWaits,
    log,
  }
  const end = createEndProviderBatch(provided)
  const prepareLine = createPrepareLine({ gateway, keys, log })
  const takeResults = createTakeResults({ ...provided, lines, callLine, usage: needs.usage })
  const providerRunner = createProviderRunner({
    ...provided,
    submitter: createSubmitter({ ...provided, batches: store, prepareLine, end, maxCalls, isPressed }),
    follow: createFollower({ ...provided, end, takeResults }),
    onReady: runner.wake,
  })

  const parts: readonly Part[] = [
    { name: 'calls of batches', isSessionWork: true, start: runner.start, drain: runner.drain, stop: runner.stop },
    { name: 'batches', isSessionWork: true, start: keeper.start, stop: keeper.stop },
    { name: 'batches of providers', isSessionWork: true, start: providerRunner.start, stop: providerRunner.stop },
  ]

  return {
    parts,
    /** Cancels all batches of a principal or of keys. */
    async cancelAll(payers: BatchPayers): Promise<void> {
      if ((await store.cancelAll(payers)) > 0) announce()
    },
    serve(app: FastifyInstance) {
      serveMessageBatches(app, {
        batches: createBatches({ store, lines, announce }, 'anthropic'),
        create: createMessageBatches({ store, targetOf, announce }),
        publicUrl: needs.publicUrl,
      })
      serveFileBatches(app, {
        batches: createBatches({ store, lines, announce }, 'openai'),
        create: createFileBatches({ store, files, announce }),
      })
    },
  }
}
