import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { eventually } from '../../../test/support/eventually.ts'
import { AppError } from '../platform/errors.ts'
import type { UsageRow } from './rows.ts'
import { createUsage } from './usage.ts'

const row = (id: string): UsageRow => ({
  id,
  request_id: `req_${id}`,
  principal: 'master',
  alias: 'm',
  deployment: 'm.1',
  provider: 'anthropic',
  upstream_model: 'm',
  lane: 'raw',
  outcome: 'completed',
  status: 200,
  attempts: 1,
  input_tokens: 1,
  cache_read_tokens: 0,
  cache_write_5m_tokens: 0,
  cache_write_1h_tokens: 0,
  output_tokens: 1,
  reasoning_tokens: 0,
  web_searches: 0,
  rates: null,
  estimated: false,
  total_ms: 1,
})
const passing = new Error('the database is away')

/** A ledger over a store whose inserts do what `answers` say, then succeed; timed flushes are far away. */
function ledger(answers: (Error | undefined)[] = [], options: { capacity?: number; poison?: string } = {}) {
  const written: string[] = []
  const said: string[] = []
  const usage = createUsage({
    store: {
      async settle({ rows, released }) {
        const error = answers.shift()
        if (error) throw error
        if (rows.some(({ id }) => id === options.poison)) throw new Error('bad row')
        written.push(...rows.map(({ id }) => id), ...released)
        return []
      },
    },
    log: {
      warn: (...parts: unknown[]) => said.push(String(parts[1])),
      error: (...parts: unknown[]) => said.push(String(parts[1])),
    },
    isPassing: error => error === passing,
    periodMs: 10_000,
    ...(options.capacity !== undefined && { capacity: options.capacity }),
  })
  return { usage, written, said }
}

test('a full batch is written at once, however far the next timed writing is', async () => {
  const { usage, written } = ledger()
  for (let at = 0; at < 499; at++) usage.book(row(`u${at}`))
  await nextTurn()
  assert.equal(written.length, 0)
  usage.book(row('u499'))
  await nextTurn()
  assert.equal(written.length, 500)
  await usage.stop()
})

test('rows are written in batches, in order, none left when it stops', async () => {
  const { usage, written } = ledger()
  const ids = Array.from({ length: 1_234 }, (_, at) => `u${at}`)
  for (const id of ids) usage.book(row(id))
  assert.equal(written.length, 0)
  await usage.stop()
  assert.deepEqual(written, ids)
})

test('rows are written within the period', async () => {
  const written = Promise.withResolvers<number>()
  const usage = createUsage({
    store: {
      async settle({ rows }) {
        written.resolve(rows.length)
        return []
      },
    },
    log: { warn: () => undefined, error: () => undefined },
    isPassing: () => true,
    periodMs: 10,
  })
  const alive = setInterval(() => undefined, 1_000)
  usage.book(row('a'))
  assert.equal(await written.promise, 1)
  clearInterval(alive)
  await usage.stop()
})

test('a lost database keeps the rows; what it still refuses at the stop is counted in the log', async () => {
  const first = ledger([passing])
  first.usage.book(row('a'))
  await first.usage.stop()
  assert.deepEqual(first.said, ['usage cannot be written now; it is kept', 'usage rows are lost: the database is away'])
})

test('one bad row does not take its neighbours along', async () => {
  const { usage, written, said } = ledger([], { poison: 'b' })
  for (const id of ['a', 'b', 'c']) usage.book(row(id))
  await usage.stop()
  assert.deepEqual(written, ['a', 'c'])
  assert.deepEqual(said, ['the end of a call cannot be written, and is dropped'])
})

test('V5: a row of a call without a limit is written within 100 ms', async t => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { usage, written } = ledger()
  usage.book(row('a'))
  t.mock.timers.tick(100)
  await nextTurn()
  assert.deepEqual(written, ['a'])
  t.mock.timers.reset()
  await usage.stop()
})

/** A ledger of five rows whose database answers when it is let. */
function slowLedger(patienceMs: number) {
  let gate = Promise.withResolvers<void>()
  const usage = createUsage({
    store: { settle: () => gate.promise.then(() => []) },
    log: { warn: () => undefined, error: () => undefined },
    isPassing: error => error === passing,
    gatherMs: 0,
    periodMs: 10_000,
    capacity: 5,
    patienceMs,
  })
  return {
    usage,
    answer: () => gate.resolve(),
    fail() {
      gate.reject(passing)
      gate = Promise.withResolvers()
    },
  }
}

const isRefused = (code: string, message: string, retryAfter: string) => (error: unknown) =>
  error instanceof AppError &&
  error.code === code &&
  error.message === message &&
  error.headers['retry-after'] === retryAfter

const behind = isRefused('overloaded', 'usage ledger is behind; retry after 1 s', '1')
const away = isRefused('unavailable', 'database is unreachable and the usage ledger is full; retry after 5 s', '5')

test('L8: from 80 % of its rows on a call waits for room in the ledger', async () => {
  const { usage, answer } = slowLedger(60_000)
  for (const id of ['a', 'b', 'c']) usage.book(row(id))
  assert.equal(usage.room(), undefined)
  usage.book(row('d'))
  const room = usage.room()
  assert.ok(room)
  // What is at work by then is still taken.
  usage.book(row('e'))
  const written = usage.flush()
  answer()
  await Promise.all([room, written])
  assert.equal(usage.room(), undefined)
  await usage.stop()
})

test('L8: a ledger that is behind for too long says so; only a database that does not answer is said to be away', async () => {
  const { usage, answer, fail } = slowLedger(1)
  for (const id of ['a', 'b', 'c', 'd']) usage.book(row(id))
  const alive = setInterval(() => undefined, 1_000)
  await assert.rejects(usage.room() ?? Promise.resolve(), behind)
  clearInterval(alive)
  const flushed = usage.flush()
  const waiting = assert.rejects(usage.room() ?? Promise.resolve(), away)
  fail()
  await Promise.all([flushed, waiting])
  await assert.rejects(usage.room() ?? Promise.resolve(), away)
  const written = usage.flush()
  answer()
  await written
  assert.equal(usage.room(), undefined)
  await usage.stop()
})

test('calls for which something is held are settled at once, those that end at about the same time in one statement', async () => {
  const batches: string[][] = []
  const usage = createUsage({
    store: {
      async settle({ rows, released }) {
        batches.push([...rows.map(({ id }) => id), ...released])
        return []
      },
    },
    log: { warn: () => undefined, error: () => undefined },
    isPassing: () => false,
    periodMs: 10_000,
  })
  usage.book(row('free'))
  await nextTurn()
  assert.deepEqual(batches, [])
  usage.book({ ...row('held'), held_usd: '0.1' })
  usage.release('req_released')
  await nextTurn()
  assert.deepEqual(batches, [['free', 'held', 'req_released']])
  // What ends soon after is settled soon after, in one statement.
  usage.book({ ...row('late'), held_usd: '0.1' })
  await nextTurn()
  usage.release('req_later')
  await eventually(() => batches.length > 1)
  assert.deepEqual(batches.slice(1), [['late', 'req_later']])
  await usage.stop()
})

test('a flush waits for what was booked before it, also while another one is at work', async () => {
  const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const batches: string[][] = []
  const usage = createUsage({
    store: {
      async settle({ rows }) {
        batches.push(rows.map(({ id }) => id))
        await gates[batches.length - 1]?.promise
        return []
      },
    },
    log: { warn: () => undefined, error: () => undefined },
    isPassing: () => false,
    periodMs: 10_000,
  })
  usage.book(row('a'))
  const first = usage.flush()
  usage.book(row('b'))
  let isDone = false
  const second = usage.flush().then(() => {
    isDone = true
  })
  gates[0]?.resolve()
  await first
  await nextTurn()
  assert.deepEqual([batches, isDone], [[['a'], ['b']], false])
  gates[1]?.resolve()
  await second
  await usage.stop()
})

test('a soft limit that was passed is told once, in the log', async () => {
  const said: unknown[] = []
  const passed = { scope: 'key', scope_id: 'key_1', soft_usd: '8', max_usd: '10', spent_usd: '8.5', reset_at: null }
  const usage = createUsage({
    store: { settle: async () => [passed] },
    log: { warn: (...parts: unknown[]) => said.push(parts), error: () => undefined },
    isPassing: () => false,
    periodMs: 10_000,
  })
  await usage.bookNow({ rows: [row('a')], shares: [] })
  assert.deepEqual(said, [[passed, 'a soft budget was passed']])
  await usage.stop()
})
