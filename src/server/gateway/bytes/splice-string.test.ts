import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { joined, lengthOf, spliceString } from './body-edit.ts'
import { keysOf, ownMembers } from './json-members.ts'

/** Any JSON text with keys, escapes and numbers as clients may spell them. */
const blank = fc.constantFrom('', ' ', '\n', '\t ', '\r\n')
const number = fc.constantFrom('1.0', '1e5', '-0', '123456789012345678901234567890', '0.1E-7')
const string = fc.oneof(
  fc.string({ unit: 'binary' }).map(text => JSON.stringify(text)),
  // Long enough for the native search, with runs of quotes and backslashes.
  fc
    .string({ unit: fc.constantFrom('a', 'bcdefgh', '"', '\\', '\n'), size: 'large', maxLength: 400 })
    .map(text => JSON.stringify(text)),
  fc.constantFrom('"\\u006dodel"', '"\\/"', '"model"', '"\\"model\\":"', '"\\ud83d\\ude00"', '"é😀"'),
)
const { value } = fc.letrec<{ value: string; array: string; object: string }>(tie => ({
  value: fc.oneof({ maxDepth: 4 }, number, string, fc.constantFrom('true', 'null'), tie('array'), tie('object')),
  array: fc
    .tuple(blank, fc.array(tie('value'), { maxLength: 4 }))
    .map(([gap, items]) => `[${gap}${items.join(`,${gap}`)}]`),
  object: fc
    .tuple(blank, fc.array(fc.tuple(string, tie('value')), { maxLength: 4 }))
    .map(([gap, pairs]) => `{${pairs.map(([key, item]) => `${gap}${key}${gap}:${gap}${item}`).join(',')}${gap}}`),
}))
const keys = keysOf(['model', 'max_tokens', 'stream'])
const otherKey = string.filter(text => !['model', 'max_tokens', 'stream'].includes(JSON.parse(text)))

test('R3: replacing the model keeps every byte outside its string', () => {
  const pairs = fc.array(fc.tuple(otherKey, value), { maxLength: 5 })
  fc.assert(
    fc.property(pairs, pairs, string, string, blank, (before, after, from, to, gap) => {
      const write = (model: string) =>
        `${gap}{${[...before, ['"model"', model], ...after].map(([key, item]) => `${gap}${key}:${gap}${item}`).join(',')}${gap}}`
      const body = Buffer.from(write(from))
      const members = ownMembers(body, keys)
      assert.deepEqual(members?.duplicates, [])
      const [model] = members.values
      assert.ok(model)
      assert.equal(joined(spliceString(body, model, JSON.parse(to))).toString(), write(JSON.stringify(JSON.parse(to))))
    }),
    { numRuns: 500 },
  )
})

test('R3: only the shorter side of a long body is copied', () => {
  const text = 'x'.repeat(100_000)
  const texts = [`{"model":"a/b","text":"${text}"}`, `{"text":"${text}","model":"a/b"}`]
  for (const long of texts) {
    const body = Buffer.from(long)
    const [model] = ownMembers(body, keys)?.values ?? []
    assert.ok(model)
    const parts = spliceString(body, model, 'b')
    assert.equal(joined(parts).toString(), long.replace('a/b', 'b'))
    assert.equal(lengthOf(parts), body.length - 2)
    assert.ok(!Buffer.isBuffer(parts) && parts.some(({ buffer }) => buffer === body.buffer))
  }
})
