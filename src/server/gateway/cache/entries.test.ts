import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freshDatabase } from '../../../../test/support/service/database.ts'
import { createRowCipher } from '../../db/encrypted-rows.ts'
import { createKeyring } from '../../platform/encryption.ts'
import { createReencryption } from '../../secrets/reencryption.ts'
import { secretStore } from '../../secrets/store.ts'
import { type CachedAnswer, createResponseCache } from './entries.ts'
import { responseCacheStore } from './store.ts'

const { pool } = await freshDatabase()
const store = responseCacheStore(pool)
const [oldKey, newKey] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)]
const hourMs = 3_600_000
const silent = { warn: () => undefined, info: () => undefined, error: () => undefined } as never

interface Options {
  readonly maxBytes?: number
  readonly keys?: readonly Buffer[]
  readonly warnings?: string[]
}

const cacheWith = ({ maxBytes = 1e9, keys = [oldKey], warnings = [] }: Options = {}) =>
  createResponseCache({
    store,
    cipher: createRowCipher(createKeyring(keys), 'response_cache'),
    maxBytes: () => maxBytes,
    log: { warn: (_: unknown, text: string) => void warnings.push(text) } as never,
  })

const answerOf = (body: string | Buffer): CachedAnswer => ({
  contentType: 'application/json',
  degraded: undefined,
  body: Buffer.from(body),
})
const named = (id: string, principal = 'ada') => ({ principal, id })
const bodyOf = async (cache: ReturnType<typeof cacheWith>, name = named('a'), ttlMs = hourMs) =>
  (await cache.find(name, ttlMs))?.body.toString()

test('an answer is found by its principal and its id, with its head and every byte, at once and in another process', async () => {
  const cache = cacheWith()
  const bytes = Buffer.from([0, 10, 255, 10, 13])
  cache.put(named('a'), { contentType: 'text/event-stream', degraded: 'top_k=dropped', body: bytes }, hourMs)
  for (const reader of [cache, cacheWith()]) {
    const found = await reader.find(named('a'), hourMs)
    assert.deepEqual(found, {
      contentType: 'text/event-stream',
      degraded: 'top_k=dropped',
      body: bytes,
      ageSeconds: found?.ageSeconds,
    })
    assert.ok(Number.isInteger(found?.ageSeconds))
  }
  assert.equal(await cache.find(named('a', 'bob'), hourMs), undefined)
  assert.equal(await cache.find(named('b'), hourMs), undefined)
})

test('a later answer replaces the previous one', async () => {
  const cache = cacheWith()
  cache.put(named('again'), answerOf('one'), hourMs)
  assert.equal(await bodyOf(cache, named('again')), 'one')
  cache.put(named('again'), answerOf('two'), hourMs)
  assert.equal(await bodyOf(cache, named('again')), 'two')
})

test('an entry expires after its ttl, and is a miss for calls with a shorter ttl', async () => {
  const cache = cacheWith()
  cache.put(named('old'), answerOf('old'), hourMs)
  assert.equal(await bodyOf(cache, named('old')), 'old')
  const age = async (column: string) =>
    pool.query(`update response_cache set ${column} = ${column} - interval '10 minutes' where id = 'old'`)
  await age('created_at')
  assert.equal(await bodyOf(cache, named('old'), 60_000), undefined)
  assert.equal((await cache.find(named('old'), hourMs))?.ageSeconds, 600)
  for (let minutes = 0; minutes < 60; minutes += 10) await age('expires_at')
  assert.equal(await bodyOf(cache, named('old'), 10 * hourMs), undefined)
})

test('a stored entry cannot be decrypted without the key, nor in place of another entry', async () => {
  const warnings: string[] = []
  const cache = cacheWith({ warnings })
  cache.put(named('sealed'), answerOf('a secret word'), hourMs)
  assert.equal(await bodyOf(cache, named('sealed')), 'a secret word')
  const { rows } = await pool.query<{ sealed: Buffer }>(`select sealed from response_cache where id = 'sealed'`)
  assert.ok(!rows[0]?.sealed.includes('secret'))
  await pool.query(`update response_cache set principal = 'bob' where id = 'sealed'`)
  assert.equal(await bodyOf(cache, named('sealed', 'bob')), undefined)
  assert.equal(await bodyOf(cacheWith({ keys: [newKey], warnings })), undefined)
  const text = 'cannot read the response cache; calling an upstream'
  assert.deepEqual(warnings, [text, text])
})

test('the oldest entries are deleted first beyond the limit', async () => {
  await pool.query('delete from response_cache')
  const cache = cacheWith({ maxBytes: 3_500 })
  for (const id of ['1', '2', '3', '4', '5']) {
    cache.put(named(id), answerOf(id.repeat(1_000)), hourMs)
    assert.equal((await bodyOf(cache, named(id)))?.length, 1_000)
  }
  const { rows } = await pool.query<{ id: string }>('select id from response_cache order by id')
  assert.deepEqual(
    rows.map(({ id }) => id),
    ['3', '4', '5'],
  )
})

test('entries are re-encrypted when the encryption key changes', async () => {
  const cache = cacheWith()
  cache.put(named('kept'), answerOf('kept'), hourMs)
  assert.equal(await bodyOf(cache, named('kept')), 'kept')
  const keyring = createKeyring([newKey, oldKey])
  const secrets = secretStore(pool)
  assert.ok((await secrets.keyUse()).some(({ table }) => table === 'response_cache'))
  await createReencryption({ store: secrets, keyring, log: silent, pauseMs: 0 }).run(new AbortController().signal)
  assert.equal(await bodyOf(cacheWith({ keys: [newKey] }), named('kept')), 'kept')
})

test('a failing database only logs a warning', async () => {
  const warnings: string[] = []
  const cache = cacheWith({ warnings })
  await pool.query('alter table response_cache rename to elsewhere')
  cache.put(named('lost'), answerOf('lost'), hourMs)
  assert.equal(await bodyOf(cache, named('lost')), undefined)
  await pool.query('alter table elsewhere rename to response_cache')
  assert.deepEqual(warnings, [
    'cannot write to the response cache',
    'cannot read the response cache; calling an upstream',
  ])
})
