import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { eventually } from '../../../test/support/service/eventually.ts'
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
const transient = new Error('database is unreachable')

/** Ledger over a store whose first inserts return `answers` and whose later ones succeed; timed flushes are disabled. */
function ledger(answers: (Error | undefined)[] = [], options: { capacity?: number; poison?: string } = {}) {
  const written: string[] = []
  const logged: string[] = []
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
      warn: (...parts: unknown[]) => logged.push(String(parts[1])),
      error: (...parts: unknown[]) => logged.push(String(parts[1])),
    },
    isTransient: error => error === transient,
    periodMs: 10_000,
    ...(options.capacity !== undefined && { capacity: options.capacity }),
  })
  return { usage, written, logged }
}

test('a full batch is written at once, without waiting for the timed flush', async () => {
  const { usage, written } = ledger()
  for (let at = 0; at < 499; at++) usage.book(row(`u${at}`))
  await nextTurn()
  assert.equal(written.length, 0)
  usage.book(row('u499'))
  await nextTurn()
  assert.equal(written.length, 500)
  await usage.stop()
})

test('rows are written in batches, in order, and all of them before the stop resolves', async () => {
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
    isTransient: () => true,
    periodMs: 10,
  })
  const alive = setInterval(() => undefined, 1_000)
  usage.book(row('a'))
  assert.equal(await written.promise, 1)
  clearInterval(alive)
  await usage.stop()
})

test('rows are kept while the database is unreachable; the stop logs how many cannot be written', async () => {
  const first = ledger([transient])
  first.usage.book(row('a'))
  await first.usage.stop()
  assert.deepEqual(first.logged, [
    'cannot write usage rows; retrying',
    'usage rows are lost: the database is unreachable',
  ])
})

test('one bad row does not fail the other rows of its batch', async () => {
  const { usage, written, logged } = ledger([], { poison: 'b' })
  for (const id of ['a', 'b', 'c']) usage.book(row(id))
  await usage.stop()
  assert.deepEqual(written, ['a', 'c'])
  assert.deepEqual(logged, ['cannot write a usage row; dropped it'])
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

/** Ledger with room for five rows whose database answers on demand. */
function slowLedger(patienceMs: number) {
  let gate = Promise.withResolvers<void>()
  const usage = createUsage({
    store: { settle: () => gate.promise.then(() => []) },
    log: { warn: () => undefined, error: () => undefined },
    isTransient: error => error === transient,
    gatherMs: 0,
    periodMs: 10_000,
    capacity: 5,
    patienceMs,
  })
  return {
    usage,
    answer: () => gate.resolve(),
    fail() {
      gate.reject(transient)
      gate = Promise.withResolvers()
    },
  }
}

const isRejected = (code: string, message: string, retryAfter: string) => (error: unknown) =>
  error instanceof AppError &&
  error.code === code &&
  error.message === message &&
  error.headers['retry-after'] === retryAfter

const behind = isRejected('overloaded', 'usage ledger is behind; retry after 1 s', '1')
const unreachable = isRejected(
  'unavailable',
  'database is unreachable and the usage ledger is full; retry after 5 s',
  '5',
)

test('L8: a new call waits for room in the ledger above 80 % of its capacity', async () => {
  const { usage, answer } = slowLedger(60_000)
  for (const id of ['a', 'b', 'c']) usage.book(row(id))
  assert.equal(usage.room(), undefined)
  usage.book(row('d'))
  const room = usage.room()
  assert.ok(room)
  // Calls in flight are still booked.
  usage.book(row('e'))
  const written = usage.flush()
  answer()
  await Promise.all([room, written])
  assert.equal(usage.room(), undefined)
  await usage.stop()
})

test('L8: a ledger that stays behind reports overloaded; only an unreachable database is reported as unavailable', async () => {
  const { usage, answer, fail } = slowLedger(1)
  for (const id of ['a', 'b', 'c', 'd']) usage.book(row(id))
  const alive = setInterval(() => undefined, 1_000)
  await assert.rejects(usage.room() ?? Promise.resolve(), behind)
  clearInterval(alive)
  const flushed = usage.flush()
  const waiting = assert.rejects(usage.room() ?? Promise.resolve(), unreachable)
  fail()
  await Promise.all([flushed, waiting])
  await assert.rejects(usage.room() ?? Promise.resolve(), unreachable)
  const written = usage.flush()
  answer()
  await written
  assert.equal(usage.room(), undefined)
  await usage.stop()
})

test('calls with reservations are settled at once, and those that end together in one statement', async () => {
  const batches: string[][] = []
  const usage = createUsage({
    store: {
      async settle({ rows, released }) {
        batches.push([...rows.map(({ id }) => id), ...released])
        return []
      },
    },
    log: { warn: () => undefined, error: () => undefined },
    isTransient: () => false,
    periodMs: 10_000,
  })
  usage.book(row('free'))
  await nextTurn()
  assert.deepEqual(batches, [])
  usage.book({ ...row('held'), held_usd: '0.1' })
  usage.release('req_released')
  await nextTurn()
  assert.deepEqual(batches, [['free', 'held', 'req_released']])
  // Calls that end soon after are settled soon after, in one statement.
  usage.book({ ...row('late'), held_usd: '0.1' })
  await nextTurn()
  usage.release('req_later')
  await eventually(() => batches.length > 1)
  assert.deepEqual(batches.slice(1), [['late', 'req_later']])
  await usage.stop()
})

test('a flush waits for all rows booked before it, even if another flush is running', async () => {
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
    isTransient: () => false,
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

test('a reached soft limit is logged once', async () => {
  const logged: unknown[] = []
  const passed = { scope: 'key', scope_id: 'key_1', soft_usd: '8', max_usd: '10', spent_usd: '8.5', reset_at: null }
  const usage = createUsage({
    store: { settle: async () => [passed] },
    log: { warn: (...parts: unknown[]) => logged.push(parts), error: () => undefined },
    isTransient: () => false,
    periodMs: 10_000,
  })
  await usage.bookNow({ rows: [row('a')], shares: [] })
  assert.deepEqual(logged, [[passed, 'soft budget reached']])
  await usage.stop()
})
