import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freshDatabase } from '../../../test/support/database.ts'
import { AppError } from '../platform/errors.ts'
import { transaction } from './connect.ts'
import { type OnceKey, once } from './once.ts'

const { pool } = await freshDatabase()

const scope = (key: string, changes: Partial<OnceKey> = {}): OnceKey => ({
  principal: 'ada',
  route: 'sessions.create',
  key,
  bodyHash: Buffer.from('body'),
  ...changes,
})

const inTransaction = <T>(key: OnceKey | undefined, work: () => Promise<T>): Promise<T> =>
  transaction(pool, client => once((text, values) => client.query(text, [...values]), key, work))

test('of many requests under one key one is done, and all get its answer', async () => {
  let done = 0
  const work = async () => ({ number: ++done })
  const answers = await Promise.all(Array.from({ length: 20 }, () => inTransaction(scope('parallel'), work)))
  assert.equal(done, 1)
  for (const answer of answers) assert.deepEqual(answer, { number: 1 })
})

test('a request that failed leaves its key free', async () => {
  const failed = inTransaction(scope('failed'), () => Promise.reject(new Error('no')))
  await assert.rejects(failed, /^Error: no$/)
  assert.equal(await inTransaction(scope('failed'), async () => 'yes'), 'yes')
})

test('another body under the same key is refused', async () => {
  await inTransaction(scope('body'), async () => 1)
  const other = inTransaction(scope('body', { bodyHash: Buffer.from('other') }), async () => 2)
  await assert.rejects(other, (error: unknown) => error instanceof AppError && error.code === 'idempotency_mismatch')
})

test('a key belongs to its caller and its route', async () => {
  await inTransaction(scope('mine'), async () => 'first')
  assert.equal(await inTransaction(scope('mine', { principal: 'bob' }), async () => 'second'), 'second')
  assert.equal(await inTransaction(scope('mine', { route: 'agents.create' }), async () => 'third'), 'third')
})

test('without a key everything is done every time', async () => {
  let done = 0
  for (let at = 0; at < 2; at++) await inTransaction(undefined, async () => ++done)
  assert.equal(done, 2)
})

test('an answer without a value is remembered too', async () => {
  let done = 0
  const work = async (): Promise<undefined> => void done++
  assert.equal(await inTransaction(scope('nothing'), work), undefined)
  assert.equal(await inTransaction(scope('nothing'), work), undefined)
  assert.equal(done, 1)
})
