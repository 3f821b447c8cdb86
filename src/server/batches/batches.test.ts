import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { freshDatabase } from '../../../test/support/service/database.ts'
import { eventually } from '../../../test/support/service/eventually.ts'
import type { Call, Outcome, Sink } from '../gateway/core/call.ts'
import { type Caller, masterCaller } from '../http/caller.ts'
import { AppError } from '../platform/errors.ts'
import { retentionStore } from '../retention/store.ts'
import { createBatchKeeper } from './batch-keeper.ts'
import { batchStore } from './batch-store.ts'
import { createBatches } from './batches.ts'
import { createCallLine } from './line-call.ts'
import { createLineRunner, type LineRunner } from './line-runner.ts'
import { lineStore } from './line-store.ts'
import { createMessageBatches } from './message-batches.ts'

const { pool } = await freshDatabase()
const store = batchStore(pool)
const lines = lineStore(pool)
const runners = new Set<LineRunner>()
const announce = () => {
  for (const runner of runners) runner.wake()
}
const batches = createBatches({ store, lines, announce }, 'anthropic')
const quiet = { warn: () => undefined }

type Answer = (call: Call) => { readonly status: number; readonly body: unknown } | AppError

const usage = {} as Outcome['usage']

/** A gateway that answers as the test says, a moment later. */
function gatewayOf(answer: Answer) {
  const calls: Call[] = []
  let most = 0
  let open = 0
  const gateway = {
    calls,
    get most() {
      return most
    },
    async call(call: Call, sink: Sink): Promise<Outcome> {
      calls.push(call)
      most = Math.max(most, ++open)
      await new Promise(resolve => setTimeout(resolve, 2))
      open--
      if (call.signal.aborted)
        return { outcome: 'aborted', status: undefined, stopReason: undefined, usage, firstContentMs: 1 }
      const given = answer(call)
      if (given instanceof AppError) throw given
      sink.head(given.status, {})
      sink.end(Buffer.from(typeof given.body === 'string' ? given.body : JSON.stringify(given.body, null, 2)))
      return { outcome: 'completed', status: given.status, stopReason: undefined, usage, firstContentMs: 1 }
    },
  }
  return gateway
}

const nameIn = ({ body }: Call): string => JSON.parse(body.toString()).messages[0].content
const echo: Answer = call => ({ status: 200, body: { type: 'message', content: nameIn(call) } })
const keyed = (id: string): Caller => ({
  ...masterCaller,
  principal: id,
  role: 'user',
  key: { id, models: [], isLimited: false, isNarrow: false, expires: false },
})

/** The work of one process. */
function processOf(t: TestContext, { call }: Pick<ReturnType<typeof gatewayOf>, 'call'>, keys: readonly string[] = []) {
  const owner = randomUUID()
  const callLine = createCallLine({
    gatewayOf: () => ({ call }),
    keys: { workerById: id => (keys.includes(id) ? keyed(id) : undefined) },
    maxTries: 3,
    retryMs: () => 5,
  })
  const runner = createLineRunner({
    lines,
    batches: store,
    callLine,
    maxCalls: () => 4,
    isPressed: () => false,
    owner,
    log: quiet,
    budgetMs: { line: 5, batch: 5 },
  })
  const runJob = async () => 'done' as const
  const keeper = createBatchKeeper({ store, lines, runJob, onReady: runner.wake, owner, log: quiet })
  runner.start()
  runners.add(runner)
  keeper.start()
  t.after(async () => {
    runners.delete(runner)
    await keeper.stop()
    await runner.stop()
  })
  return runner
}

async function* chunksOf(body: unknown): AsyncGenerator<Buffer> {
  yield Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))
}

const requestsOf = (count: number, params: object = {}) =>
  Array.from({ length: count }, (_, at) => ({
    custom_id: `line-${at}`,
    params: { model: 'm', messages: [{ role: 'user', content: `line-${at}` }], ...params },
  }))

const create = (body: unknown, caller = masterCaller, maxRequests = 100_000, key?: string) =>
  createMessageBatches({ store, targetOf: () => undefined, announce, maxRequests })({
    body: chunksOf(body),
    headers: { 'anthropic-beta': 'some-beta', authorization: 'Bearer secret' },
    caller,
    request: key === undefined ? undefined : { principal: caller.principal, route: 'batches', key },
    onIgnored: () => undefined,
  })

const ended = (id: string, caller = masterCaller) =>
  eventually(async () => {
    const row = await batches.get(id, caller)
    return row.state === 'ended' && row
  })

async function resultsOf(id: string, caller = masterCaller) {
  const chunks: Buffer[] = []
  for await (const chunk of await batches.results(id, caller)) chunks.push(chunk)
  const text = Buffer.concat(chunks).toString()
  return text
    .trimEnd()
    .split('\n')
    .map(line => JSON.parse(line) as { custom_id: string; result: Record<string, unknown> & { type: string } })
}

const countsOf = ({ succeeded, errored, canceled, expired }: Awaited<ReturnType<typeof batches.get>>) => ({
  succeeded,
  errored,
  canceled,
  expired,
})

test('each line is called once with the headers of the batch, and the results are in the order of the requests', async t => {
  const gateway = gatewayOf(echo)
  processOf(t, gateway)
  processOf(t, gateway)
  const { id } = await create({ requests: requestsOf(60) })
  assert.deepEqual(countsOf(await ended(id)), { succeeded: 60, errored: 0, canceled: 0, expired: 0 })
  assert.deepEqual(
    (await resultsOf(id)).map(({ custom_id, result }) => [custom_id, result.type, result['message']]),
    requestsOf(60).map(({ custom_id }) => [custom_id, 'succeeded', { type: 'message', content: custom_id }]),
  )
  assert.equal(gateway.calls.length, 60)
  assert.ok(gateway.most <= 8)
  const [first] = gateway.calls
  assert.deepEqual(first?.headers, { 'anthropic-beta': 'some-beta', 'content-type': 'application/json' })
  assert.deepEqual([first?.batchId, first?.kind, first?.caller.principal], [id, 'messages', 'master'])
})

test('a broken request fails alone; failures that may pass are retried, at most as often as set', async t => {
  let tries = 0
  const gateway = gatewayOf(call => {
    const name = nameIn(call)
    if (name === 'line-0') return new AppError('not_found', 'model m not found')
    if (name === 'line-1') return { status: 400, body: { type: 'error', error: { type: 'invalid_request_error' } } }
    if (name === 'line-2' && tries++ < 2) return new AppError('upstream_unreachable', 'no connection')
    if (name === 'line-3') return { status: 529, body: { type: 'error', error: { type: 'overloaded_error' } } }
    if (name === 'line-4') return { status: 200, body: 'not JSON' }
    return echo(call)
  })
  processOf(t, gateway)
  const requests = [...requestsOf(6), { custom_id: 'stream', params: { stream: true } }]
  const { id } = await create({ requests })
  assert.deepEqual(countsOf(await ended(id)), { succeeded: 2, errored: 5, canceled: 0, expired: 0 })
  const results = await resultsOf(id)
  assert.deepEqual(
    results.map(({ result }) => (result['error'] as { error: { type: string } } | undefined)?.error.type),
    [
      'not_found_error',
      'invalid_request_error',
      undefined,
      'overloaded_error',
      'api_error',
      undefined,
      'invalid_request_error',
    ],
  )
  assert.equal(gateway.calls.filter(call => nameIn(call) === 'line-3').length, 3)
})

test('lines wait while a budget has no room, and the batch says for what', async t => {
  let hasRoom = false
  const gateway = gatewayOf(call => (hasRoom ? echo(call) : new AppError('budget_exceeded', 'budget of key k is $1')))
  processOf(t, gateway)
  const { id } = await create({ requests: requestsOf(5) })
  await eventually(async () => (await batches.get(id, masterCaller)).waiting_for === 'budget of key k is $1')
  hasRoom = true
  const row = await ended(id)
  assert.deepEqual([row.succeeded, row.waiting_for], [5, null])
})

test('when the key of a batch is revoked, its remaining lines fail and say so', async t => {
  const keys = ['key_1']
  const gateway = gatewayOf(call => {
    keys.length = 0
    return echo(call)
  })
  processOf(t, gateway, keys)
  const caller = keyed('key_1')
  const { id } = await create({ requests: requestsOf(30) }, caller)
  const row = await ended(id, caller)
  assert.ok(row.succeeded >= 1 && row.errored >= 20 && row.succeeded + row.errored === 30)
  const failed = (await resultsOf(id, caller)).at(-1)?.result['error'] as { error: { type: string; message: string } }
  assert.equal(failed.error.type, 'authentication_error')
  assert.match(failed.error.message, /key key_1 of this batch was revoked, has expired or may only read/)
})

test('a cancelled batch finishes the calls in flight and makes no more; an expired one neither', async t => {
  const inFlight = Promise.withResolvers<void>()
  const gateway = gatewayOf(echo)
  const slow = {
    async call(call: Call, sink: Sink) {
      await inFlight.promise
      return gateway.call(call, sink)
    },
  }
  processOf(t, slow)
  const { id } = await create({ requests: requestsOf(50) })
  await eventually(async () => (await pool.query('select from batch_lines where claim is not null')).rows.length === 4)
  assert.equal((await batches.cancel(id, masterCaller)).state, 'canceling')
  await eventually(async () => (await batches.get(id, masterCaller)).canceled === 46)
  await assert.rejects(batches.remove(id, masterCaller), { code: 'conflict' })
  await assert.rejects(batches.results(id, masterCaller), { code: 'conflict' })
  const { id: late } = await create({ requests: requestsOf(3) })
  await pool.query('update batches set expires_at = clock_timestamp() where id = $1', [late])
  inFlight.resolve()
  const row = await ended(id)
  assert.deepEqual([countsOf(row), row.outcome], [{ succeeded: 4, errored: 0, canceled: 46, expired: 0 }, 'cancelled'])
  const expired = await ended(late)
  assert.deepEqual([expired.expired, expired.outcome], [3, 'expired'])
  assert.deepEqual((await resultsOf(late))[0], { custom_id: 'line-0', result: { type: 'expired' } })
  await assert.rejects(batches.cancel(id, masterCaller), { code: 'conflict', message: /has ended/ })
  await batches.remove(id, masterCaller)
  await assert.rejects(batches.get(id, masterCaller), { code: 'not_found' })
})

test('lines of an exited process are called by another one, and a late result of the first is dropped', async t => {
  const { id } = await create({ requests: requestsOf(3) })
  // The lock of this owner is free, so it counts as exited.
  const dead = randomUUID()
  const claimed = await lines.claim({ claim: randomUUID(), owner: dead, limit: 2 })
  assert.equal(claimed.length, 2)
  await pool.query(`update batch_lines set ready_at = ready_at - interval '6 seconds' where owner = $1`, [dead])
  const gateway = gatewayOf(echo)
  processOf(t, gateway)
  await ended(id)
  await lines.settle(
    claimed.map(line => ({ ...line, type: 'errored', status: 500, request_id: 'req_late', result: '{}' })),
  )
  const row = await batches.get(id, masterCaller)
  assert.deepEqual([row.succeeded, row.errored, gateway.calls.length], [3, 0, 3])
  assert.ok((await resultsOf(id)).every(({ result }) => result.type === 'succeeded'))
})

test('a large batch does not delay a small one', async t => {
  const order: string[] = []
  const gateway = gatewayOf(call => {
    order.push(call.batchId ?? '')
    return echo(call)
  })
  const { id: large } = await create({ requests: requestsOf(300) })
  const { id: small } = await create({ requests: requestsOf(10) })
  processOf(t, gateway)
  await ended(small)
  await ended(large)
  assert.ok(order.lastIndexOf(small) < 150, `the small batch ended after ${order.lastIndexOf(small)} calls`)
})

const rejected: readonly (readonly [why: string, body: unknown, message: RegExp])[] = [
  ['no JSON', 'garbage', /request body is not valid JSON/],
  ['no requests', { requests: [] }, /requests must have at least 1 item/],
  ['a request of garbage', '{"requests": [{custom_id}]}', /requests\[0\] is not valid JSON/],
  ['no custom_id', { requests: [{ params: {} }] }, /requests\[0\]\.custom_id must be 1 to 64 letters/],
  ['a custom_id with blanks', { requests: [{ custom_id: 'a b', params: {} }] }, /requests\[0\]\.custom_id/],
  [
    'a repeated custom_id',
    { requests: [...requestsOf(2), ...requestsOf(1)] },
    /requests\[2\]\.custom_id line-0 occurs more/,
  ],
  ['no params', { requests: [{ custom_id: 'a', params: 'x' }] }, /requests\[0\]\.params must be an object/],
  ['too many requests', { requests: requestsOf(6) }, /requests has more than 5 items/],
]

for (const [why, body, message] of rejected) {
  test(`a body with ${why} is rejected, and no batch is left`, async () => {
    await assert.rejects(create(body, masterCaller, 5), { code: 'invalid_request', message })
    const { rows } = await pool.query(`select from batches where state = 'receiving' and deleted_at is null`)
    assert.equal(rows.length, 0)
  })
}

test('the cleanup deletes batches after their retention and deleted ones at once, with their lines', async () => {
  const dayMs = 86_400_000
  const ids: string[] = []
  for (const days of [30, 28, 0]) {
    const { id } = await create({ requests: requestsOf(2) }, keyed('key_old'))
    ids.push(id)
    const text = `update batches set state = 'ended', ended_at = clock_timestamp() - $2 * interval '1 day' where id = $1`
    await pool.query(text, [id, days])
  }
  await batches.remove(ids[2] ?? '', keyed('key_old'))
  await retentionStore(pool).alone(async cleaning => {
    for (const table of ['batch_lines', 'batches'] as const) await cleaning.deleteOlder(table, 29 * dayMs)
    for (const table of ['deleted_batch_lines', 'deleted_batches'] as const) await cleaning.deleteOlder(table, 0)
  })
  const left = `select id, (select count(*) from batch_lines where batch_id = b.id) as lines from batches b where id = any ($1)`
  assert.deepEqual((await pool.query(left, [ids])).rows, [{ id: ids[1], lines: 2 }])
})

test('a principal has at most 100 batches that have not ended', async () => {
  const caller = keyed('key_many')
  const text = `
    insert into batches (id, format, principal, kind, headers, state, expires_at)
    select 'many_' || n, 'openai', 'key_many', 'chat', '{}', 'validating', clock_timestamp() from generate_series(1, 100) n`
  await pool.query(text)
  await assert.rejects(create({ requests: requestsOf(1) }, caller), { code: 'rate_limited', message: /100 batches/ })
  await pool.query(`update batches set state = 'ended' where principal = 'key_many'`)
  await create({ requests: requestsOf(1) }, caller)
})

test('a request that is repeated with its key gets the first batch, and leaves no other', async () => {
  const caller = keyed('key_again')
  const again = (requests: object) => create({ requests }, caller, 100, 'k1')
  const rows = await Promise.all([again(requestsOf(3)), again(requestsOf(3))])
  rows.push(await again(requestsOf(3)))
  const [id] = new Set(rows.map(row => row.id))
  assert.ok(rows.every(row => row.id === id))
  await assert.rejects(again(requestsOf(2)), { code: 'idempotency_mismatch' })
  const { rows: listed } = await batches.list({ limit: 10, after: undefined }, caller)
  assert.deepEqual([listed.map(row => row.id), listed[0]?.lines], [[id], 3])
  await pool.query('update batches set deleted_at = now() where id = $1', [id])
  await assert.rejects(again(requestsOf(3)), { code: 'conflict', message: /was deleted; use a new key/ })
})

test('a batch is visible to its principal only, and lists page in both directions', async () => {
  const caller = keyed('key_pages')
  const ids: string[] = []
  for (let count = 0; count < 5; count++) ids.unshift((await create({ requests: requestsOf(1) }, caller)).id)
  const [newest = '', second, third = ''] = ids
  await assert.rejects(batches.get(newest, keyed('key_other')), { code: 'not_found' })
  const page = async (place: { after?: string; before?: string }, limit = 2) => {
    const { rows, hasMore } = await batches.list({ after: place.after, before: place.before, limit }, caller)
    return [rows.map(({ id }) => id), hasMore]
  }
  assert.deepEqual(await page({}), [[newest, second], true])
  assert.deepEqual(await page({ after: third }), [ids.slice(3), false])
  assert.deepEqual(await page({ before: third }), [[newest, second], false])
  assert.deepEqual(await page({ before: third }, 1), [[second], true])
})
