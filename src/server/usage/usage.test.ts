import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { UsageRow } from './store.ts'
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
      async insert(rows) {
        const error = answers.shift()
        if (error) throw error
        if (rows.some(({ id }) => id === options.poison)) throw new Error('bad row')
        written.push(...rows.map(({ id }) => id))
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
    store: { insert: async rows => written.resolve(rows.length) },
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
  assert.deepEqual(said, ['a usage row cannot be written and is dropped'])
})

test('rows that wait are bounded, and lost ones are told', async () => {
  const { usage, written, said } = ledger([], { capacity: 2 })
  for (const id of ['a', 'b', 'c', 'd']) usage.book(row(id))
  await usage.stop()
  assert.deepEqual(written, ['a', 'b'])
  assert.deepEqual(said, ['usage rows were lost: too many waited for the database'])
})
