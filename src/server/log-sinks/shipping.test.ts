import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { rowOf } from '../../../test/support/keys/budget-bench.ts'
import { freshDatabase } from '../../../test/support/service/database.ts'
import { eventually } from '../../../test/support/service/eventually.ts'
import { createPool, transaction } from '../db/connect.ts'
import { columns } from '../usage/rows.ts'
import { createShipping, retryAfterMs } from './shipping.ts'
import { type LogRecord, type LogSink, SinkFailure } from './sink.ts'
import { logSinkStore } from './store.ts'

const { pool, url } = await freshDatabase()
const store = logSinkStore(pool)
const slow = createPool({ url, max: 2, onLost: () => undefined })

const insert = `insert into usage (${columns.join(', ')}, created_at)
  select ${columns.join(', ')}, clock_timestamp() from json_populate_recordset(null::usage, $1)`
const book = (...ids: string[]) => pool.query(insert, [JSON.stringify(ids.map(id => rowOf(id, {}, '0.5')))])
const requestIds = (records: readonly LogRecord[]) => records.map(({ request_id }) => request_id)

/** A sink that stores what it gets, unless `refuse` says no. */
function sinkNamed(name: string, refuse: (records: readonly LogRecord[]) => SinkFailure | undefined = () => undefined) {
  const got: LogRecord[] = []
  const batches: number[] = []
  const sink: LogSink = {
    name,
    async send(records) {
      const failure = refuse(records)
      if (failure) throw failure
      got.push(...records)
      batches.push(records.length)
    },
  }
  return { got, batches, sink }
}

function ship(t: TestContext, sink: LogSink, more: object = {}) {
  const shipping = createShipping({
    sinks: [{ sink, bodiesUntilMs: undefined }],
    store,
    cipher: { decrypt: ({ sealed }) => sealed },
    log: { warn: () => undefined, info: () => undefined },
    idleMs: 10,
    retryMs: () => 20,
    ...more,
  })
  shipping.start()
  t.after(shipping.stop)
  return shipping
}

const isAdded = (name: string) =>
  eventually(async () => (await store.states([{ name, bodiesUntilMs: undefined }])).length > 0)

test('a sink gets the rows since it was added, once, in their order, from any number of processes', async t => {
  await book('before')
  const { sink, got } = sinkNamed('once')
  for (let at = 0; at < 3; at++) ship(t, sink)
  await isAdded('once')
  const ids = Array.from({ length: 1_200 }, (_, at) => `once_${at}`)
  for (const id of ids.slice(0, 20)) await book(id)
  await book(...ids.slice(20))
  await eventually(() => got.length >= ids.length)
  assert.deepEqual(requestIds(got).slice(0, 20), ids.slice(0, 20))
  assert.deepEqual(new Set(requestIds(got)), new Set(ids))
  assert.equal(got.length, ids.length)
  assert.equal(got[0]?.['cost_usd'], '0.5')
})

test('a row that becomes visible after later ones is not lost', async t => {
  const { sink, got } = sinkNamed('late')
  ship(t, sink)
  await isAdded('late')
  await transaction(slow, async client => {
    await client.query(insert, [JSON.stringify([rowOf('late_1', {}, '1')])])
    await book('late_2')
    await eventually(() => got.length === 1)
  })
  await eventually(() => got.length === 2)
  assert.deepEqual(requestIds(got), ['late_2', 'late_1'])
  await slow.end()
})

test('a call that ends after it was sent as lost gets a second record', async t => {
  const { sink, got } = sinkNamed('final')
  ship(t, sink)
  await isAdded('final')
  await pool.query(insert, [JSON.stringify([{ ...rowOf('final_1', {}, '1'), outcome: 'lost' }])])
  await eventually(() => got.length === 1)
  await pool.query(`update usage set outcome = 'completed', cost_usd = 2 where request_id = 'final_1'`)
  await eventually(() => got.length === 2)
  const [lost, final] = got
  assert.deepEqual([lost?.['outcome'], final?.['outcome'], final?.['cost_usd']], ['lost', 'completed', '2'])
  assert.deepEqual([final?.id, final?.['replaces']], [`${lost?.id}:final`, lost?.id])
})

test('a sink that fails is retried without loss, shows its lag, and does not delay another', async t => {
  let isDown = true
  const down = sinkNamed('down', () => (isDown ? new SinkFailure('receiver is unreachable') : undefined))
  const other = sinkNamed('other')
  ship(t, down.sink)
  ship(t, other.sink)
  await isAdded('down')
  await isAdded('other')
  await book('down_1', 'down_2')
  await eventually(() => other.got.length === 2)
  const state = await eventually(async () => {
    const [found] = await store.states([{ name: 'down', bodiesUntilMs: undefined }])
    return found && found.attempts > 2 && found
  })
  assert.deepEqual([state.waiting, state.last_error], [2, 'receiver is unreachable'])
  assert.ok(state.failing_since && state.lag_ms !== null && state.lag_ms > 0)
  isDown = false
  await eventually(() => down.got.length === 2)
  const after = await eventually(async () => {
    const [found] = await store.states([{ name: 'down', bodiesUntilMs: undefined }])
    return found?.attempts === 0 && found
  })
  assert.deepEqual([after.waiting, after.last_error, after.failing_since, after.sent], [0, null, null, 2])
})

test('a batch that the receiver rejects is sent in smaller parts', async t => {
  const small = sinkNamed('small', records =>
    records.length > 3 ? new SinkFailure('receiver returned status 413', { isRejected: true }) : undefined,
  )
  ship(t, small.sink)
  await isAdded('small')
  await book(...Array.from({ length: 10 }, (_, at) => `small_${at}`))
  await eventually(() => small.got.length === 10)
  assert.ok(small.batches.every(size => size <= 3))
})

test('a claim of a process that ended is taken over, and its batch is sent again with the same ids', async t => {
  const dead = { name: 'dead', stream: 'calls', token: crypto.randomUUID() } as const
  await store.add(dead)
  assert.equal(await store.claim(dead), true)
  await book('dead_1')
  const [read] = await store.calls(dead, 10)
  const { sink, got } = sinkNamed('dead')
  ship(t, sink)
  await pool.query(`update log_sinks set claimed_until = clock_timestamp() where name = 'dead'`)
  await eventually(() => got.length === 1)
  assert.equal(got[0]?.id, read?.id)
  assert.equal(await store.settle(dead, [{ id: read?.id ?? '', place: read?.place ?? '', is_lost: false }]), false)
})

test('the retries of a sink are at most five minutes apart', () => {
  assert.ok(retryAfterMs(1) >= 1_000 && retryAfterMs(1) <= 1_100)
  assert.ok(retryAfterMs(100) <= 330_000)
})
