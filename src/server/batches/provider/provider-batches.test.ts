import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, beforeEach, type TestContext, test } from 'node:test'
import { freshDatabase } from '../../../../test/support/service/database.ts'
import { eventually } from '../../../../test/support/service/eventually.ts'
import { startBatchUpstream } from '../../../../test/support/upstream/batch-upstream.ts'
import type { Deployment } from '../../config/deployments.ts'
import type { BatchApi, BatchRequest } from '../../gateway/batching/batch-api.ts'
import { BatchRejected } from '../../gateway/batching/connection.ts'
import { createProviderBatches } from '../../gateway/batching/provider-batches.ts'
import type { Call, Outcome, Sink } from '../../gateway/core/call.ts'
import { masterCaller } from '../../http/caller.ts'
import { AppError } from '../../platform/errors.ts'
import { createOutbound } from '../../platform/outbound.ts'
import { createBatchKeeper } from '../batch-keeper.ts'
import { batchStore } from '../batch-store.ts'
import { createBatches } from '../batches.ts'
import { createCallLine } from '../line-call.ts'
import { createLineRunner } from '../line-runner.ts'
import { lineStore } from '../line-store.ts'
import { createMessageBatches } from '../message-batches.ts'
import { createEndProviderBatch } from './end-provider-batch.ts'
import { createFollower } from './follower.ts'
import { createPrepareLine } from './prepare-line.ts'
import { providerBatchStore } from './provider-batch-store.ts'
import { createProviderRunner } from './provider-runner.ts'
import { createSubmitter } from './submitter.ts'
import { createTakeResults } from './take-results.ts'

const { pool } = await freshDatabase()
const store = batchStore(pool)
const lines = lineStore(pool)
const provided = providerBatchStore(pool)
const upstream = await startBatchUpstream()
after(() => upstream.close())
beforeEach(() => Object.assign(upstream.controls, { isHeld: false, rejects: undefined, losesAnswer: false }))
const quiet = { warn: () => undefined }
const batches = createBatches({ store, lines, announce: () => undefined }, 'anthropic')

const deployments = {
  claude: {
    id: 'claude',
    provider: 'anthropic',
    apiBase: upstream.url,
    headers: {},
    protocols: ['anthropic-messages'],
  },
  gpt: { id: 'gpt', provider: 'openai', apiBase: `${upstream.url}/v1`, headers: {}, protocols: ['openai-chat'] },
} as unknown as Readonly<Record<string, Deployment>>

const targetOf = (model: unknown) => ({ deployment: String(model), upstream_model: 'm' })

const create = (model: string, count: number, params: object = {}) =>
  createMessageBatches({ store, targetOf: (_kind, body) => targetOf(body['model']), announce: () => undefined })({
    body: bodyOf(model, count, params),
    headers: { 'anthropic-beta': 'some-beta' },
    caller: masterCaller,
    onIgnored: () => undefined,
  })

async function* bodyOf(model: string, count: number, params: object): AsyncGenerator<Buffer> {
  const requests = Array.from({ length: count }, (_, at) => {
    const messages = [{ role: 'user', content: `line ${at}` }]
    return { custom_id: `line-${at}`, params: { model, messages, ...params } }
  })
  yield Buffer.from(JSON.stringify({ requests }))
}

interface RigOptions {
  /** Rejects requests for the batch API; undefined admits them. */
  readonly rejection?: (call: Call) => AppError | undefined
  /** Replaces parts of the provider's API. */
  readonly api?: Partial<BatchApi>
  /** Deployments that this process knows. */
  readonly known?: Readonly<Record<string, Deployment>>
}

/** The work of one process on batches, with a gateway that answers single calls at once. */
function processOf(t: TestContext, { rejection, api: replaced, known = deployments }: RigOptions = {}) {
  const calls: Call[] = []
  const reserved = new Set<string>()
  const kept = new Set<string>()
  const gateway = {
    async batchRequest(call: Call): Promise<BatchRequest> {
      const rejected = rejection?.(call)
      if (rejected) throw rejected
      const { model } = JSON.parse(call.body.toString())
      const isClaude = model === 'claude'
      reserved.add(call.requestId)
      return {
        ...targetOf(model),
        protocol: isClaude ? 'anthropic-messages' : 'openai-chat',
        path: isClaude ? '/v1/messages' : '/v1/chat/completions',
        headers: { 'content-type': 'application/json', ...(call.headers as Record<string, string>) },
        body: call.body,
        called: Buffer.from(call.body),
        reservedUsd: '0.5',
      }
    },
    async call(call: Call, sink: Sink): Promise<Outcome> {
      calls.push(call)
      reserved.delete(call.requestId)
      sink.head(200, {})
      sink.end(call.batchAnswer?.body ?? Buffer.from('{"single":true}'))
      return {
        outcome: 'completed',
        status: 200,
        stopReason: undefined,
        usage: {} as Outcome['usage'],
        firstContentMs: 1,
      }
    },
  }
  const budgets = {
    async keep(ids: readonly string[]) {
      for (const id of ids) kept.add(id)
    },
    async releaseAll(ids: readonly string[]) {
      for (const id of ids) reserved.delete(id)
    },
  }
  const callLine = createCallLine({
    gatewayOf: () => gateway,
    keys: { workerById: () => undefined },
    maxTries: 3,
    retryMs: () => 5,
  })
  const owner = randomUUID()
  const shared = { maxCalls: () => 4, isPressed: () => false, log: quiet }
  const runner = createLineRunner({
    ...shared,
    lines,
    batches: store,
    callLine,
    owner,
    budgetMs: { line: 5, batch: 5 },
  })
  const keeper = createBatchKeeper({ ...shared, store, lines, runJob: async () => 'done', onReady: runner.wake, owner })
  const outbound = createOutbound({ allow: [upstream.host] })
  const api = {
    ...createProviderBatches({ outbound, authorize: (_target, { headers }) => ({ ...headers }) }),
    ...replaced,
  }
  const deps = {
    ...shared,
    store: provided,
    budgets,
    api,
    statusOf: (error: unknown) => (error instanceof BatchRejected ? error.status : undefined),
    providerOf({ deployment: id, protocol }: { deployment: string; protocol: string | null }) {
      const deployment = known[id]
      return deployment && protocol ? { deployment, protocol: protocol as 'openai-chat' } : undefined
    },
    waits: { poll: () => 20, cancelled: 20, findAgain: 20, full: 20, listed: 0 },
  }
  const end = createEndProviderBatch(deps)
  const prepareLine = createPrepareLine({ gateway, keys: { workerById: () => undefined }, log: quiet })
  const takeResults = createTakeResults({ ...deps, lines, callLine, usage: { flush: async () => undefined } })
  const providers = createProviderRunner({
    ...deps,
    submitter: createSubmitter({ ...deps, batches: store, prepareLine, end }),
    follow: createFollower({ ...deps, end, takeResults }),
    onReady: runner.wake,
    periodMs: 50,
  })
  runner.start()
  keeper.start()
  providers.start()
  const stop = async () => {
    await providers.stop()
    await keeper.stop()
    await runner.stop()
  }
  t.after(stop)
  return { calls, reserved, kept, stop }
}

const ended = (id: string) =>
  eventually(async () => {
    const row = await batches.get(id, masterCaller)
    return row.state === 'ended' && row
  })

const countsOf = ({ succeeded, errored, canceled, expired }: Awaited<ReturnType<typeof ended>>) =>
  [succeeded, errored, canceled, expired].join()

/** Batches of the upstream that have been submitted since the start of a test. */
const submittedSince = (count: number) => upstream.batches.slice(0, upstream.batches.length - count)

for (const model of ['claude', 'gpt']) {
  test(`${model}: lines become one batch of the provider, and its answers their results`, async t => {
    const before = upstream.batches.length
    const { calls, reserved, kept } = processOf(t)
    const { id } = await create(model, 250)
    assert.equal(countsOf(await ended(id)), '250,0,0,0')
    const [batch, ...others] = submittedSince(before)
    assert.deepEqual([batch?.lines.length, others.length], [250, 0])
    assert.ok(batch?.lines.every(({ custom_id }) => custom_id.length <= 64))
    if (model === 'claude') assert.equal(batch?.betas, 'some-beta')
    const shown = { id: batch?.id, deployment: model, requests: 250 }
    await eventually(async () => (await batches.get(id, masterCaller)).provider_batches[0]?.status === 'ended')
    assert.deepEqual((await batches.get(id, masterCaller)).provider_batches, [{ ...shown, status: 'ended' }])
    assert.ok(calls.every(({ batchAnswer }) => batchAnswer?.reservedUsd === '0.5'))
    assert.deepEqual([calls.length, kept.size, reserved.size], [250, 250, 0])
  })

  test(`${model}: a batch whose answer was lost is found again, and not submitted twice`, async t => {
    const before = upstream.batches.length
    upstream.controls.losesAnswer = true
    processOf(t)
    const { id } = await create(model, 3)
    assert.equal(countsOf(await ended(id)), '3,0,0,0')
    assert.equal(submittedSince(before).length, 1)
  })

  test(`${model}: a batch that never reached the provider is submitted again`, async t => {
    const before = upstream.batches.length
    let failures = 1
    const outbound = createOutbound({ allow: [upstream.host] })
    const real = createProviderBatches({ outbound, authorize: (_target, { headers }) => ({ ...headers }) })
    const { reserved } = processOf(t, {
      api: {
        async submit(provider, submission) {
          if (failures-- > 0) throw new Error('no connection')
          return real.submit(provider, submission)
        },
      },
    })
    const { id } = await create(model, 3)
    assert.equal(countsOf(await ended(id)), '3,0,0,0')
    assert.deepEqual([submittedSince(before).length, reserved.size], [1, 0])
  })
}

test('a killed process: lines that were not submitted are submitted by another, and a running batch is followed', async t => {
  const before = upstream.batches.length
  const { id } = await create('claude', 4)
  // It was killed after it took lines, before and after their submission.
  const dead = { ...targetOf('claude'), id: randomUUID(), batch_id: id, claim: randomUUID() }
  await provided.insert(dead)
  assert.equal((await provided.take(dead)).length, 4)
  await pool.query('update provider_batches set ready_at = clock_timestamp() where id = $1', [dead.id])
  upstream.controls.isHeld = true
  const first = processOf(t)
  await eventually(async () => submittedSince(before).length === 1)
  await eventually(async () => (await batches.get(id, masterCaller)).provider_batches.length === 1)
  await first.stop()
  upstream.controls.isHeld = false
  const second = processOf(t)
  assert.equal(countsOf(await ended(id)), '4,0,0,0')
  assert.deepEqual([submittedSince(before).length, second.calls.length], [1, 4])
  // The paused owner of the first batch can no longer submit it.
  assert.equal(await provided.submitting(dead, { lines: 4, protocol: 'anthropic-messages' }), false)
})

test('requests without a success are made singly, and so are all when the provider rejects the batch', async t => {
  const { calls, reserved } = processOf(t)
  const { id } = await create('gpt', 3, { max_tokens: 13 })
  assert.equal(countsOf(await ended(id)), '3,0,0,0')
  upstream.controls.rejects = 400
  const { id: rejected } = await create('claude', 2)
  assert.equal(countsOf(await ended(rejected)), '2,0,0,0')
  assert.ok(calls.every(({ batchAnswer }) => batchAnswer === undefined))
  assert.deepEqual([calls.length, reserved.size], [5, 0])
})

test('a provider without room gets the lines again; after three times they are called singly', async t => {
  upstream.controls.rejects = 429
  const { calls, reserved } = processOf(t)
  const { id } = await create('claude', 2)
  const row = await ended(id)
  assert.deepEqual([countsOf(row), calls.length, reserved.size], ['2,0,0,0', 2, 0])
  const { rows } = await pool.query('select from provider_batches where batch_id = $1', [id])
  assert.equal(rows.length, 3)
})

test('a cancelled batch is cancelled at the provider, and keeps the answers that it has', async t => {
  upstream.controls.isHeld = true
  const { reserved } = processOf(t)
  const { id } = await create('claude', 3)
  await eventually(async () => (await batches.get(id, masterCaller)).provider_batches.length === 1)
  await batches.cancel(id, masterCaller)
  const row = await ended(id)
  assert.deepEqual([countsOf(row), row.outcome, reserved.size], ['1,0,2,0', 'cancelled', 0])
})

test('lines of a removed deployment are made singly', async t => {
  upstream.controls.isHeld = true
  const first = processOf(t)
  const { id } = await create('gpt', 2)
  await eventually(async () => (await batches.get(id, masterCaller)).provider_batches.length === 1)
  await first.stop()
  const { calls } = processOf(t, { known: {} })
  assert.equal(countsOf(await ended(id)), '2,0,0,0')
  assert.ok(calls.every(({ batchAnswer }) => batchAnswer === undefined))
})

test('a budget without room delays the lines that it does not admit', async t => {
  let room = 2
  const { kept } = processOf(t, {
    rejection: () => (room-- > 0 ? undefined : new AppError('budget_exceeded', 'budget of key k is $1')),
  })
  upstream.controls.isHeld = true
  const { id } = await create('claude', 4)
  await eventually(async () => (await batches.get(id, masterCaller)).waiting_for === 'budget of key k is $1')
  assert.equal(kept.size, 2)
  room = 4
  upstream.controls.isHeld = false
  assert.equal(countsOf(await ended(id)), '4,0,0,0')
})
