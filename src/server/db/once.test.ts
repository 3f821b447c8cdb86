import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freshDatabase } from '../../../test/support/service/database.ts'
import { createKeyring, createValueCipher } from '../platform/encryption.ts'
import { AppError } from '../platform/errors.ts'
import { transaction } from './connect.ts'
import { type OnceKey, once, sqlOfClient } from './once.ts'

const { pool } = await freshDatabase()

const scope = (key: string, changes: Partial<OnceKey> = {}): OnceKey => ({
  principal: 'ada',
  route: 'sessions.create',
  key,
  bodyHash: Buffer.from('body'),
  ...changes,
})

const inTransaction = <T>(key: OnceKey | undefined, work: () => Promise<T>): Promise<T> =>
  transaction(pool, client => once(sqlOfClient(client), key, work))

test('concurrent requests with one key run once, and all get the same answer', async () => {
  let done = 0
  const work = async () => ({ number: ++done })
  const answers = await Promise.all(Array.from({ length: 20 }, () => inTransaction(scope('parallel'), work)))
  assert.equal(done, 1)
  for (const answer of answers) assert.deepEqual(answer, { number: 1 })
})

test('a failed request does not use up its key', async () => {
  const failed = inTransaction(scope('failed'), () => Promise.reject(new Error('no')))
  await assert.rejects(failed, /^Error: no$/)
  assert.equal(await inTransaction(scope('failed'), async () => 'yes'), 'yes')
})

test('another body with the same key is rejected', async () => {
  await inTransaction(scope('body'), async () => 1)
  const other = inTransaction(scope('body', { bodyHash: Buffer.from('other') }), async () => 2)
  await assert.rejects(other, (error: unknown) => error instanceof AppError && error.code === 'idempotency_mismatch')
})

test('a key is scoped to its caller and route', async () => {
  await inTransaction(scope('mine'), async () => 'first')
  assert.equal(await inTransaction(scope('mine', { principal: 'bob' }), async () => 'second'), 'second')
  assert.equal(await inTransaction(scope('mine', { route: 'agents.create' }), async () => 'third'), 'third')
})

test('without a key every request runs', async () => {
  let done = 0
  for (let at = 0; at < 2; at++) await inTransaction(undefined, async () => ++done)
  assert.equal(done, 2)
})

test('an undefined answer is stored too', async () => {
  let done = 0
  const work = async (): Promise<undefined> => void done++
  assert.equal(await inTransaction(scope('nothing'), work), undefined)
  assert.equal(await inTransaction(scope('nothing'), work), undefined)
  assert.equal(done, 1)
})

test('S17: an answer with a secret is stored encrypted, and a retry still gets it', async () => {
  const cipher = createValueCipher(createKeyring([Buffer.alloc(32, 7)]), 'idempotency')
  const key = scope('secret', { cipher })
  const work = async () => ({ key: 'sk-canary' })
  assert.deepEqual(await inTransaction(key, work), { key: 'sk-canary' })
  const { rows } = await pool.query(`select response::text from idempotency_keys where key = 'secret'`)
  assert.match(rows[0].response, /^\{"sealed":"[\w+/=]+"\}$/)
  assert.deepEqual(await inTransaction(key, () => Promise.reject(new Error('done twice'))), { key: 'sk-canary' })
})

test('S17: an encrypted answer that was moved to another key cannot be decrypted', async () => {
  const cipher = createValueCipher(createKeyring([Buffer.alloc(32, 7)]), 'idempotency')
  for (const name of ['one', 'other']) await inTransaction(scope(name, { cipher }), async () => name)
  await pool.query(`
    update idempotency_keys set response = (select response from idempotency_keys where key = 'one') where key = 'other'`)
  await assert.rejects(
    inTransaction(scope('other', { cipher }), async () => 'again'),
    /was modified/,
  )
})

test('S13: a retry is rejected if the encryption key of its answer was removed, and does not run again', async () => {
  const cipherOf = (byte: number) => createValueCipher(createKeyring([Buffer.alloc(32, byte)]), 'idempotency')
  await inTransaction(scope('rotated', { cipher: cipherOf(7) }), async () => 'secret')
  await assert.rejects(
    inTransaction(scope('rotated', { cipher: cipherOf(8) }), async () => 'again'),
    (error: unknown) => error instanceof AppError && error.code === 'conflict',
  )
})

test('after 24 hours a key can be reused, and its stored answer is deleted', async () => {
  for (const key of ['old', 'forgotten', 'young']) await inTransaction(scope(key), async () => 'first')
  await pool.query(`
    update idempotency_keys set created_at = created_at - interval '24 hours' where key in ('old', 'forgotten')`)
  assert.equal(await inTransaction(scope('old'), async () => 'second'), 'second')
  assert.equal(await inTransaction(scope('young'), async () => 'second'), 'first')
  const { rows } = await pool.query(`select key from idempotency_keys where key = 'forgotten'`)
  assert.deepEqual(rows, [])
})
