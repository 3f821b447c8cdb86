import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { KeyCache, type Remembered } from './cache.ts'

/** A cache on a clock and a source of the test's own, which counts what it is asked. */
function createRig(capacity?: number) {
  let nowMs = 0
  const asked: string[] = []
  const cache = new KeyCache<string>({ nowMs: () => nowMs, ...(capacity !== undefined && { capacity }) })
  const found = (value: string, restMs: number | null = null): Remembered<string> => ({ value, keyId: value, restMs })
  const get = async (name: string, answer: Remembered<string> | Promise<Remembered<string>>) =>
    cache.get(name, async () => {
      asked.push(name)
      return answer
    })
  const pass = (ms: number) => {
    nowMs += ms
  }
  return { cache, asked, found, get, pass }
}

const nothing = { value: undefined, keyId: undefined, restMs: null }

test('S06: an answer is remembered for 5 s and no longer', async () => {
  const { get, asked, found, pass } = createRig()
  assert.equal(await get('a', found('key_1')), 'key_1')
  pass(3_999)
  assert.equal(await get('a', nothing), 'key_1')
  pass(1_001)
  assert.equal(await get('a', nothing), undefined)
  assert.deepEqual(asked, ['a', 'a'])
})

test('a key that is used is looked up beside its calls before it is forgotten, and none of them waits', async () => {
  const { get, asked, found, pass } = createRig()
  await get('a', found('key_1'))
  pass(4_000)
  const slow = Promise.withResolvers<Remembered<string>>()
  assert.equal(await get('a', slow.promise), 'key_1')
  assert.equal(await get('a', nothing), 'key_1')
  slow.resolve(found('key_1 as it is now'))
  await nextTurn()
  pass(3_000)
  assert.equal(await get('a', nothing), 'key_1 as it is now')
  assert.deepEqual(asked, ['a', 'a'])
})

test('a look-up beside calls that fails changes nothing for them until what is remembered is too old', async () => {
  const { get, asked, found, pass } = createRig()
  await get('a', found('key_1'))
  pass(4_000)
  assert.equal(await get('a', Promise.reject(new Error('away'))), 'key_1')
  await nextTurn()
  pass(1_000)
  await assert.rejects(get('a', Promise.reject(new Error('still away'))), /still away/)
  assert.equal(asked.length, 3)
})

test('its age counts from before the look-up: a slow one is not remembered for longer', async () => {
  const { get, asked, found, pass } = createRig()
  const slow = Promise.withResolvers<Remembered<string>>()
  const first = get('a', slow.promise)
  pass(4_000)
  slow.resolve(found('key_1'))
  await first
  pass(1_000)
  await get('a', found('key_1'))
  assert.equal(asked.length, 2)
})

test('what was found is answered at once, without a promise', async () => {
  const { cache, found } = createRig()
  await cache.get('a', async () => found('key_1'))
  assert.equal(
    cache.get('a', async () => nothing),
    'key_1',
  )
})

test('B6: expiry is compared on every call, also while the answer is remembered', async () => {
  const { get, asked, found, pass } = createRig()
  assert.equal(await get('a', found('key_1', 1_000)), 'key_1')
  pass(999)
  assert.equal(await get('a', nothing), 'key_1')
  pass(1)
  assert.equal(await get('a', nothing), undefined)
  assert.equal(asked.length, 1)
})

test('S06: two names that are equal but for their last character are two', async () => {
  const { get, found } = createRig()
  const common = 'x'.repeat(64)
  assert.equal(await get(`${common}1`, found('key_1')), 'key_1')
  assert.equal(await get(`${common}2`, nothing), undefined)
})

test('wrong keys are remembered too', async () => {
  const { get, asked } = createRig()
  await get('wrong', nothing)
  assert.equal(await get('wrong', nothing), undefined)
  assert.equal(asked.length, 1)
})

test('a flood of wrong keys takes no more room than its share, and pushes out no right one', async () => {
  const { get, asked, found } = createRig(10)
  await get('right', found('key_1'))
  for (let at = 0; at < 100; at++) await get(`wrong ${at}`, nothing)
  assert.equal(await get('right', nothing), 'key_1')
  const before = asked.length
  for (let at = 0; at < 100; at++) await get(`wrong ${at}`, nothing)
  assert.ok(asked.length - before >= 90, 'at most ten of them were still remembered')
})

test('the answer that was looked up longest ago makes room', async () => {
  const { get, asked, found } = createRig(2)
  for (const name of ['a', 'b', 'c']) await get(name, found(name))
  await get('b', found('b'))
  await get('a', found('a'))
  assert.deepEqual(asked, ['a', 'b', 'c', 'a'])
})

test('many at a time ask once', async () => {
  const { get, asked, found } = createRig()
  const answers = await Promise.all(Array.from({ length: 50 }, () => get('a', found('key_1'))))
  assert.deepEqual(new Set(answers), new Set(['key_1']))
  assert.equal(asked.length, 1)
})

test('S06: a key that has changed is asked for again, and others are not', async () => {
  const { cache, get, asked, found } = createRig()
  await get('a', found('key_1'))
  await get('grace', found('key_1'))
  await get('b', found('key_2'))
  cache.drop('key_1')
  for (const name of ['a', 'grace', 'b']) await get(name, nothing)
  assert.deepEqual(asked, ['a', 'grace', 'b', 'a', 'grace'])
})

test('S06: an answer that was under way when the key changed is not remembered, nor given to those who ask later', async () => {
  const { cache, get, asked, found } = createRig()
  const slow = Promise.withResolvers<Remembered<string>>()
  const early = get('a', slow.promise)
  cache.drop('key_1')
  const late = get('a', nothing)
  slow.resolve(found('key_1'))
  assert.equal(await early, 'key_1')
  assert.equal(await late, undefined)
  assert.equal(await get('a', found('key_1')), undefined)
  assert.equal(asked.length, 2)
})

test('after a break in the news everything is asked for again', async () => {
  const { cache, get, asked, found } = createRig()
  await get('a', found('key_1'))
  await get('wrong', nothing)
  cache.clear()
  await get('a', found('key_1'))
  await get('wrong', nothing)
  assert.equal(asked.length, 4)
})

test('a failed look-up is not remembered; all who waited for it hear of it', async () => {
  const { get, found } = createRig()
  const failing = Promise.withResolvers<Remembered<string>>()
  const waiting = [get('a', failing.promise), get('a', failing.promise)]
  failing.reject(new Error('away'))
  for (const each of waiting) await assert.rejects(each, /away/)
  assert.equal(await get('a', found('key_1')), 'key_1')
})
