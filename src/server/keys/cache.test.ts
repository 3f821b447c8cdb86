import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { type CachedLookup, KeyCache } from './cache.ts'

/** Cache with a test clock and a source that records its loads. */
function createRig(capacity?: number) {
  let nowMs = 0
  const loaded: string[] = []
  const cache = new KeyCache<string>({ nowMs: () => nowMs, ...(capacity !== undefined && { capacity }) })
  const found = (value: string, ttlMs: number | null = null): CachedLookup<string> => ({ value, keyId: value, ttlMs })
  const get = async (name: string, answer: CachedLookup<string> | Promise<CachedLookup<string>>) =>
    cache.get(name, async () => {
      loaded.push(name)
      return answer
    })
  const pass = (ms: number) => {
    nowMs += ms
  }
  return { cache, loaded, found, get, pass }
}

const nothing = { value: undefined, keyId: undefined, ttlMs: null }

test('S06: a value is cached for exactly 5 s', async () => {
  const { get, loaded, found, pass } = createRig()
  assert.equal(await get('a', found('key_1')), 'key_1')
  pass(3_999)
  assert.equal(await get('a', nothing), 'key_1')
  pass(1_001)
  assert.equal(await get('a', nothing), undefined)
  assert.deepEqual(loaded, ['a', 'a'])
})

test('a key in use is refreshed in the background before it expires, and no call waits', async () => {
  const { get, loaded, found, pass } = createRig()
  await get('a', found('key_1'))
  pass(4_000)
  const slow = Promise.withResolvers<CachedLookup<string>>()
  assert.equal(await get('a', slow.promise), 'key_1')
  assert.equal(await get('a', nothing), 'key_1')
  slow.resolve(found('key_1 as it is now'))
  await nextTurn()
  pass(3_000)
  assert.equal(await get('a', nothing), 'key_1 as it is now')
  assert.deepEqual(loaded, ['a', 'a'])
})

test('a failed refresh does not affect calls until the cached value is too old', async () => {
  const { get, loaded, found, pass } = createRig()
  await get('a', found('key_1'))
  pass(4_000)
  assert.equal(await get('a', Promise.reject(new Error('unreachable'))), 'key_1')
  await nextTurn()
  pass(1_000)
  await assert.rejects(get('a', Promise.reject(new Error('still unreachable'))), /still unreachable/)
  assert.equal(loaded.length, 3)
})

test('the age counts from the start of the lookup: the value of a slow lookup is not cached longer', async () => {
  const { get, loaded, found, pass } = createRig()
  const slow = Promise.withResolvers<CachedLookup<string>>()
  const first = get('a', slow.promise)
  pass(4_000)
  slow.resolve(found('key_1'))
  await first
  pass(1_000)
  await get('a', found('key_1'))
  assert.equal(loaded.length, 2)
})

test('a cached value is returned without a promise', async () => {
  const { cache, found } = createRig()
  await cache.get('a', async () => found('key_1'))
  assert.equal(
    cache.get('a', async () => nothing),
    'key_1',
  )
})

test('B6: expiry is checked on every call, even for cached values', async () => {
  const { get, loaded, found, pass } = createRig()
  assert.equal(await get('a', found('key_1', 1_000)), 'key_1')
  pass(999)
  assert.equal(await get('a', nothing), 'key_1')
  pass(1)
  assert.equal(await get('a', nothing), undefined)
  assert.equal(loaded.length, 1)
})

test('S06: names that differ only in the last character are distinct', async () => {
  const { get, found } = createRig()
  const common = 'x'.repeat(64)
  assert.equal(await get(`${common}1`, found('key_1')), 'key_1')
  assert.equal(await get(`${common}2`, nothing), undefined)
})

test('unknown keys are cached too', async () => {
  const { get, loaded } = createRig()
  await get('wrong', nothing)
  assert.equal(await get('wrong', nothing), undefined)
  assert.equal(loaded.length, 1)
})

test('a flood of wrong keys stays within its capacity and evicts no valid key', async () => {
  const { get, loaded, found } = createRig(10)
  await get('right', found('key_1'))
  for (let at = 0; at < 100; at++) await get(`wrong ${at}`, nothing)
  assert.equal(await get('right', nothing), 'key_1')
  const before = loaded.length
  for (let at = 0; at < 100; at++) await get(`wrong ${at}`, nothing)
  assert.ok(loaded.length - before >= 90, 'at most ten of them were still remembered')
})

test('the oldest entry is evicted first', async () => {
  const { get, loaded, found } = createRig(2)
  for (const name of ['a', 'b', 'c']) await get(name, found(name))
  await get('b', found('b'))
  await get('a', found('a'))
  assert.deepEqual(loaded, ['a', 'b', 'c', 'a'])
})

test('concurrent calls share one load', async () => {
  const { get, loaded, found } = createRig()
  const answers = await Promise.all(Array.from({ length: 50 }, () => get('a', found('key_1'))))
  assert.deepEqual(new Set(answers), new Set(['key_1']))
  assert.equal(loaded.length, 1)
})

test('S06: a changed key is loaded again, and others are not', async () => {
  const { cache, get, loaded, found } = createRig()
  await get('a', found('key_1'))
  await get('grace', found('key_1'))
  await get('b', found('key_2'))
  cache.drop('key_1')
  for (const name of ['a', 'grace', 'b']) await get(name, nothing)
  assert.deepEqual(loaded, ['a', 'grace', 'b', 'a', 'grace'])
})

test('S06: a value loaded while the key changed is neither cached nor returned to later calls', async () => {
  const { cache, get, loaded, found } = createRig()
  const slow = Promise.withResolvers<CachedLookup<string>>()
  const early = get('a', slow.promise)
  cache.drop('key_1')
  const late = get('a', nothing)
  slow.resolve(found('key_1'))
  assert.equal(await early, 'key_1')
  assert.equal(await late, undefined)
  assert.equal(await get('a', found('key_1')), undefined)
  assert.equal(loaded.length, 2)
})

test('everything is loaded again after missed notifications', async () => {
  const { cache, get, loaded, found } = createRig()
  await get('a', found('key_1'))
  await get('wrong', nothing)
  cache.clear()
  await get('a', found('key_1'))
  await get('wrong', nothing)
  assert.equal(loaded.length, 4)
})

test('a failed lookup is not cached, and rejects all calls that wait for it', async () => {
  const { get, found } = createRig()
  const failing = Promise.withResolvers<CachedLookup<string>>()
  const waiting = [get('a', failing.promise), get('a', failing.promise)]
  failing.reject(new Error('unreachable'))
  for (const each of waiting) await assert.rejects(each, /unreachable/)
  assert.equal(await get('a', found('key_1')), 'key_1')
})
