import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { hashOf, isKey, newKey, shownParts } from './format.ts'

const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const someKey = fc.constant(undefined).map(() => newKey())

test('S03: keys have at least 160 random bits: no two of 2,000 share their first 12 characters', () => {
  const keys = Array.from({ length: 2_000 }, () => newKey())
  for (const key of keys) assert.match(key, /^sk-[0-9A-Za-z]{46}$/)
  assert.equal(new Set(keys.map(key => key.slice(3, 15))).size, keys.length)
  // 40 characters of an alphabet of 62: log2(62) bits each.
  assert.ok(40 * Math.log2(62) >= 160)
})

test('every character is equally likely at every position', () => {
  const counts = new Map<string, number>()
  for (let at = 0; at < 2_000; at++)
    for (const digit of newKey().slice(3, 43)) counts.set(digit, (counts.get(digit) ?? 0) + 1)
  const expected = (2_000 * 40) / digits.length
  for (const digit of digits) {
    const count = counts.get(digit) ?? 0
    assert.ok(Math.abs(count - expected) < 0.2 * expected, `${digit} came ${count} times, not about ${expected}`)
  }
})

test('S03: isKey accepts what newKey returns', () => {
  fc.assert(fc.property(someKey, key => isKey(key)))
})

test('S03: isKey rejects a key with one changed character, so that a typo costs no query', () => {
  const slip = fc.tuple(someKey, fc.integer({ min: 3, max: 48 }), fc.constantFrom(...digits))
  fc.assert(
    fc.property(slip, ([key, at, digit]) => {
      fc.pre(key[at] !== digit)
      return !isKey(key.slice(0, at) + digit + key.slice(at + 1))
    }),
    { numRuns: 2_000 },
  )
})

test('S03: isKey rejects a key with two swapped neighbouring characters', () => {
  fc.assert(
    fc.property(someKey, fc.integer({ min: 3, max: 47 }), (key, at) => {
      fc.pre(key[at] !== key[at + 1])
      return !isKey(`${key.slice(0, at)}${key[at + 1]}${key[at]}${key.slice(at + 2)}`)
    }),
    { numRuns: 1_000 },
  )
})

test('S03: isKey rejects arbitrary text: SQL, NUL, any Unicode, of any length', () => {
  const text = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 200 }),
    fc.string({ unit: fc.constantFrom(...digits), minLength: 46, maxLength: 46 }).map(rest => `sk-${rest}`),
    fc.constantFrom("' or 1=1 --", 'sk-\u0000', 'sk-', '', "sk-'; drop table api_keys; --", 'sk-\ud800'),
  )
  fc.assert(
    fc.property(text, given => !isKey(given)),
    { numRuns: 5_000 },
  )
  const key = newKey()
  for (const near of [` ${key}`, `${key} `, `${key}\n`, key.slice(0, -1), `${key}0`, key.slice(3), key.toUpperCase()])
    assert.equal(isKey(near), false, JSON.stringify(near))
})

test('S14: the shown parts are at most a quarter of a key', () => {
  fc.assert(
    fc.property(someKey, key => {
      const { prefix, last4 } = shownParts(key)
      const secret = key.length - 'sk-'.length
      return key.startsWith(prefix) && key.endsWith(last4) && (prefix.length - 3 + last4.length) * 4 <= secret
    }),
  )
})

test('S03: a hash depends on the pepper', () => {
  const [key, pepper] = [newKey(), Buffer.alloc(32, 1)]
  assert.deepEqual(hashOf(key, pepper), hashOf(key, Buffer.from(pepper)))
  assert.equal(hashOf(key, pepper).length, 32)
  assert.notDeepEqual(hashOf(key, pepper), hashOf(key, Buffer.alloc(32, 2)))
  assert.notDeepEqual(hashOf(key, pepper), hashOf(newKey(), pepper))
})
