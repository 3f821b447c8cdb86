import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { scanTopLevel, spliceString } from './splice.ts'

const found = (text: string): string | undefined => {
  const body = Buffer.from(text)
  const { model } = scanTopLevel(body)
  return model && body.toString('utf8', model.start, model.end)
}

const places = [
  ['first', '{"model":"a","messages":[]}', '"a"'],
  ['last, with white space', '{ "messages" : [ ] ,\r\n\t"model" :\n "a" }', '"a"'],
  ['after an object that has one of its own', '{"metadata":{"model":"no"},"model":"yes"}', '"yes"'],
  ['after the same word as a value', '{"x":"model","model":"yes"}', '"yes"'],
  ['after a string that only looks like it', '{"x":"\\"model\\":\\"no\\"","model":"yes"}', '"yes"'],
  ['spelled with escapes', '{"m\\u006fdel":"yes"}', '"yes"'],
  ['with quotes inside', '{"model":"a\\"b\\\\"}', '"a\\"b\\\\"'],
  ['not there', '{"messages":[{"model":"no"}]}', undefined],
  ['not a string', '{"model":5}', undefined],
] as const

for (const [name, text, expected] of places) {
  test(`the top-level model is found: ${name}`, () => assert.equal(found(text), expected))
}

const doubles = [
  ['{"model":"a","model":"b"}', 'model'],
  ['{"model":"a","mod\\u0065l":"b"}', 'model'],
  ['{"\\u006d\\u006f\\u0064\\u0065\\u006c":"a","model":"b"}', 'model'],
  ['{"model":"a","max_tokens":1,"x":[],"max\\u005ftokens":9}', 'max_tokens'],
  ['{"model":"a","stream":false,"stream":true}', 'stream'],
  ['{"model":"a","metadata":{"model":"x","stream":1},"messages":["stream","stream","model"]}', undefined],
  ['{"model":"a","MODEL":"b","model ":"c"}', undefined],
] as const

for (const [text, expected] of doubles) {
  test(`doubled keys in ${text}: ${expected ?? 'none'}`, () => {
    assert.equal(scanTopLevel(Buffer.from(text)).doubled, expected)
  })
}

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
const otherKey = string.filter(text => !['model', 'max_tokens', 'stream'].includes(JSON.parse(text)))

test('R3: when the model maps, every byte but that of its string stays', () => {
  const pairs = fc.array(fc.tuple(otherKey, value), { maxLength: 5 })
  fc.assert(
    fc.property(pairs, pairs, string, string, blank, (before, after, from, to, gap) => {
      const write = (model: string) =>
        `${gap}{${[...before, ['"model"', model], ...after].map(([key, item]) => `${gap}${key}:${gap}${item}`).join(',')}${gap}}`
      const body = Buffer.from(write(from))
      const { model, doubled } = scanTopLevel(body)
      assert.equal(doubled, undefined)
      assert.ok(model)
      assert.equal(spliceString(body, model, JSON.parse(to)).toString(), write(JSON.stringify(JSON.parse(to))))
    }),
    { numRuns: 500 },
  )
})
