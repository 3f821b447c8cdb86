import assert from 'node:assert/strict'
import { test } from 'node:test'
import { budgetBench, rowOf } from '../../../test/support/keys/budget-bench.ts'
import type { UsageRow } from './rows.ts'

const bench = await budgetBench()
const { usage } = bench
const book = (...rows: UsageRow[]) => usage.settle({ rows, released: [] })
const release = (...released: string[]) => usage.settle({ rows: [], released })

const ledger = async (...requestIds: string[]) => {
  const text = 'select * from usage where request_id = any ($1) order by request_id'
  return (await bench.pool.query<UsageRow & { created_at: Date }>(text, [requestIds])).rows
}
const figures = async (owner: string) => {
  const { spent_usd, reserved_usd, parallel } = await bench.budget('owner', owner)
  return [Number(spent_usd), Number(reserved_usd), parallel]
}

test('rows are stored as they were booked, with the time of the database', async () => {
  const given: UsageRow = {
    ...rowOf('req_1', { key: 'key_1', owner: 'acme', agent: 'agent_1', session: 'ses_1' }, '12.000000000001'),
    prompt_id: 'msg_1',
    run_id: 'run_1',
    batch_id: 'batch_1',
    client_session_id: 'client',
    client_agent_id: null,
    client_parent_id: null,
    protocol: 'anthropic-messages',
    outcome: 'aborted',
    stop_reason: null,
    status: null,
    input_tokens: 5_000_000_000,
    cache_read_tokens: 1,
    cache_write_5m_tokens: 2,
    cache_write_1h_tokens: 3,
    output_tokens: 4,
    reasoning_tokens: 3,
    web_searches: 2,
    units: { second: 1.5 },
    estimated: true,
    rates: { input: '0.000005', output: '0.000025' },
    price_source: 'catalogue genai-prices 0.1.8',
    held_usd: '13.5',
    cached: true,
    degraded: 'top_k=dropped',
    first_content_ms: 1.5,
    total_ms: 2.25,
  }
  await bench.at('2026-04-01T12:00:00Z')
  await book(given)
  const [{ created_at, ...stored } = { created_at: undefined }] = await ledger('req_1')
  assert.deepEqual([stored, created_at?.toISOString()], [given, '2026-04-01T12:00:00.000Z'])
})

const free = { held_usd: null }

test('a batch that is sent twice is stored once, and a full batch fits in one statement', async () => {
  for (const [owner, held] of Object.entries({ held: {}, free })) {
    await bench.set('owner', owner, { max_usd: '100' })
    const rows = Array.from({ length: 500 }, (_, at) => rowOf(`${owner}_${at}`, { owner }, '0.01', held))
    await book(...rows)
    await book(...rows)
    await book()
    assert.deepEqual(await figures(owner), [5, 0, 0])
  }
})

test('a batch of calls without reservations is written atomically', async () => {
  await bench.set('owner', 'whole', { max_usd: '100' })
  const rows = Array.from({ length: 40 }, (_, at) => rowOf(`whole_${at}`, { owner: 'whole' }, '0.01', free))
  await book(...rows.slice(0, 1))
  await assert.rejects(book(...rows), { code: '23505' })
  assert.deepEqual(await figures('whole'), [0.01, 0, 0])
  for (const row of rows) await book(row)
  assert.deepEqual(await figures('whole'), [0.4, 0, 0])
})

test('calls without payers are written together with those of a budget, each once, as they were booked', async () => {
  await bench.set('owner', 'beside', { max_usd: '100' })
  const stop_reason = 'tab\t, line\r\n, \\N, \\, "quote" and ü'
  const nobodys: UsageRow = { ...rowOf('nobodys', {}, '2', free), stop_reason, rates: { input: '0.000005' } }
  const many = Array.from({ length: 20 }, (_, at) => rowOf(`more_${at}`, {}, '1', free))
  const batch = [nobodys, rowOf('somebodys', { owner: 'beside' }, '3', free), ...many]
  await book(...batch)
  await book(...batch)
  assert.deepEqual(await figures('beside'), [3, 0, 0])
  const [stored, other, ...more] = await ledger('nobodys', 'somebodys')
  assert.ok(stored && Math.abs(stored.created_at.getTime() - Date.now()) < 60_000, 'the table dates them')
  assert.deepEqual([other?.cost_usd, more], ['3', []])
  assert.deepEqual(
    Object.keys(nobodys).map(name => [name, stored?.[name as keyof UsageRow]]),
    Object.entries(nobodys),
  )
})

test('a call is identified by its request id, not by the id of its row', async () => {
  await bench.set('owner', 'once', { max_usd: '100' })
  await book(rowOf('once', { owner: 'once' }, '1'))
  await book(rowOf('once', { owner: 'once' }, '1'))
  assert.deepEqual(await figures('once'), [1, 0, 0])
})

test('B4: an unknown cost is stored as null, and a cost of zero as 0', async () => {
  await bench.set('owner', 'unknown', { max_usd: '1' })
  await book(rowOf('unknown', { owner: 'unknown' }, null), rowOf('nothing', { owner: 'unknown' }, '0'))
  assert.deepEqual(
    (await ledger('unknown', 'nothing')).map(({ cost_usd }) => cost_usd),
    ['0', null],
  )
  assert.deepEqual(await figures('unknown'), [0, 0, 0])
})

test('B3: settling a call releases its reservation and adds its cost, even above the reserved amount', async () => {
  await bench.set('owner', 'ends', { max_usd: '1' })
  const payers = { owner: 'ends' }
  for (const request_id of ['cheap', 'dear', 'never']) await bench.reserve({ request_id, payers, amount_usd: '0.3' })
  assert.deepEqual(await figures('ends'), [0, 0.9, 3])
  await book(rowOf('cheap', payers, '0.1'))
  await release('never')
  assert.deepEqual(await figures('ends'), [0.1, 0.3, 1])
  await book(rowOf('dear', payers, '2'))
  await release('never', 'dear', 'cheap')
  assert.deepEqual(await figures('ends'), [2.1, 0, 0])
  assert.deepEqual(await ledger('never'), [])
})

test('the cost of a call counts in every budget of its payers, limited or not', async () => {
  await bench.key('unlimited')
  await bench.set('key', 'unlimited', {})
  await bench.set('agent', 'counted', { max_usd: '9' })
  const payers = { key: 'unlimited', owner: 'no budget', agent: 'counted' }
  await book(rowOf('counted', payers, '0.25'))
  await book(rowOf('counted_free', payers, '0.5', free))
  assert.deepEqual(
    [(await bench.budget('key', 'unlimited')).spent_usd, (await bench.budget('agent', 'counted')).spent_usd],
    ['0.75', '0.75'],
  )
})

test('a lost call counts with its reserved amount, once, and only after its reservation expired', async () => {
  await bench.at('2026-04-02T10:00:00Z')
  await bench.set('owner', 'lost', { max_usd: '10' })
  const payers = { owner: 'lost' }
  const lost = (id: string) => rowOf(id, payers, '0.4', { outcome: 'lost', held_usd: '0.4' })
  for (const request_id of ['lost_1', 'lost_2']) await bench.reserve({ request_id, payers, amount_usd: '0.4' })
  await book(lost('lost_1'))
  assert.deepEqual(await figures('lost'), [0, 0.8, 2])
  await bench.at('2026-04-02T10:15:00Z')
  await book(lost('lost_1'), lost('never reserved'))
  await book(lost('lost_1'))
  assert.deepEqual(await figures('lost'), [0.4, 0.4, 1])
  assert.deepEqual(
    (await ledger('lost_1', 'lost_2', 'never reserved')).map(({ request_id, outcome }) => [request_id, outcome]),
    [['lost_1', 'lost']],
  )
})

test('a call that ends after it was counted as lost replaces the lost row', async () => {
  await bench.at('2026-04-02T12:00:00Z')
  for (const scope of ['owner', 'agent'] as const) await bench.set(scope, 'late', { max_usd: '10', duration: '1d' })
  const payers = { owner: 'late', agent: 'late' }
  const ids = ['late_1', 'late_2']
  for (const request_id of ids) await bench.reserve({ request_id, payers, amount_usd: '0.4' })
  await bench.at('2026-04-02T13:00:00Z')
  await book(...ids.map(id => rowOf(id, payers, '0.4', { outcome: 'lost', held_usd: '0.4', deployment: '' })))
  assert.deepEqual(await figures('late'), [0.8, 0, 0])
  const real = rowOf('late_1', payers, '0.15', { output_tokens: 7, held_usd: '0.4' })
  await book(real)
  await book(real)
  assert.deepEqual(await figures('late'), [0.55, 0, 0])
  const [row] = await ledger('late_1')
  assert.deepEqual([row?.outcome, row?.cost_usd, row?.output_tokens, row?.held_usd], ['completed', '0.15', 7, '0.4'])
  // The loss was counted in a period that has ended: the next period stays unchanged.
  await bench.at('2026-04-03T12:00:01Z')
  await bench.reserve({ payers: { owner: 'late' }, amount_usd: '0.2' })
  await book(rowOf('late_2', payers, '0.1'))
  assert.deepEqual(await figures('late'), [0, 0.2, 1])
  assert.equal(Number((await bench.budget('agent', 'late')).spent_usd), 0)
})

test('a reservation in a deleted budget releases nothing in a new budget of the same name', async () => {
  const payers = { owner: 'again' }
  await bench.set('owner', 'again', { max_usd: '1' })
  await bench.reserve({ request_id: 'before', payers, amount_usd: '0.6' })
  await bench.budgets.remove(bench.pool, { scope: 'owner', scope_id: 'again' })
  await bench.set('owner', 'again', { max_usd: '1' })
  await bench.reserve({ request_id: 'after', payers, amount_usd: '0.6' })
  await book(rowOf('before', payers, '0.1'))
  assert.deepEqual(await figures('again'), [0.1, 0.6, 1])
})

test('a soft limit is reported once per period, when it is reached', async () => {
  await bench.at('2026-04-04T00:00:00Z')
  await bench.set('owner', 'soft', { max_usd: '10', soft_usd: '1', duration: '1d' })
  let calls = 0
  const spend = async (cost: string) =>
    (await book(rowOf(`soft_${++calls}`, { owner: 'soft' }, cost))).map(({ spent_usd }) => spent_usd)
  assert.deepEqual(await spend('0.9'), [])
  assert.deepEqual(await spend('0.1'), ['1.0'])
  assert.deepEqual(await spend('0.1'), [])
  await bench.set('owner', 'soft', { max_usd: '10', soft_usd: '2', duration: '1d' })
  assert.deepEqual(await spend('0.9'), ['2.0'])
  await bench.at('2026-04-05T00:00:00Z')
  assert.deepEqual(await spend('2.5'), ['2.5'])
  await bench.at('2026-04-06T00:00:00Z')
  await bench.set('owner', 'soft', { max_usd: '10', soft_usd: '2', duration: '2d' })
  assert.deepEqual(await spend('2.1'), ['2.1'])
})
