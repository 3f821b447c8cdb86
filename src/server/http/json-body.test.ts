import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { AppError } from '../platform/errors.ts'
import { isJsonType, parseJsonBody, parseJsonText } from './json-body.ts'

const refused = (message: RegExp) => (error: unknown) =>
  error instanceof AppError && error.code === 'invalid_request' && message.test(error.message)

test('a JSON body is parsed like JSON.parse does', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 20 }), value => {
      const text = JSON.stringify(value)
      fc.pre(!text.includes('__proto__'))
      assert.deepEqual(parseJsonBody(text), JSON.parse(text))
    }),
  )
})

test('an empty body is undefined', () => {
  for (const text of ['', ' \r\n\t']) assert.equal(parseJsonBody(text), undefined)
})

test('invalid JSON is rejected with the reason', () => {
  for (const text of ['{', '{"a":}', 'hello', "{'a':1}", '[1,]', '\u0000']) {
    assert.throws(() => parseJsonBody(text), refused(/^request body is not valid JSON: /), text)
  }
})

test('64 levels are accepted and 65 are rejected; brackets in strings do not count', () => {
  const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels)
  assert.ok(parseJsonBody(nested(64)))
  assert.throws(() => parseJsonBody(nested(65)), refused(/deeper than 64 levels/))
  assert.throws(() => parseJsonBody('{"a":'.repeat(1_000_000)), refused(/deeper than 64 levels/))
  const text = JSON.stringify({ a: '[{"\\'.repeat(1_000) })
  assert.deepEqual(parseJsonBody(text), JSON.parse(text))
})

test('a __proto__ key is dropped at any level and changes no prototype', () => {
  const body = parseJsonBody('{"__proto__":{"admin":true},"a":[{"__proto__":1,"b":2}]}')
  assert.deepEqual(Object.keys(body as object), ['a'])
  assert.deepEqual({ ...(body as object) }, { a: [{ b: 2 }] })
  assert.equal((body as { admin?: unknown }).admin, undefined)
})

test('only application/json is JSON, with or without parameters', () => {
  for (const type of ['application/json', 'Application/JSON', ' application/json ; charset=utf-8']) {
    assert.equal(isJsonType(type), true, type)
  }
  for (const type of ['', 'text/plain', 'application/jsonp', 'application/json, text/plain', 'text/application/json']) {
    assert.equal(isJsonType(type), false, type)
  }
})

test('L6: 10,000 object members are accepted, in one object or in many; one more is rejected before parsing', () => {
  const flat = (count: number) =>
    JSON.stringify(Object.fromEntries(Array.from({ length: count }, (_, at) => [`k:${at}`, at])))
  const nested = (count: number) => JSON.stringify(Array.from({ length: count }, (_, at) => ({ k: `${at}:` })))
  for (const body of [flat, nested]) {
    assert.doesNotThrow(() => parseJsonBody(body(10_000)))
    assert.throws(() => parseJsonBody(body(10_001)), /more than 10000 members/)
    assert.doesNotThrow(() => parseJsonText(body(20_000)))
  }
})

test('L6: 100,000 array items are accepted, in one array or in many; one more is rejected before parsing', () => {
  const flat = (count: number) => `{"a":[${Array(count).fill('"1,[2"').join()}],"b":1,"c":{"d":1,"e":2}}`
  // Each array of two is itself an item.
  const nested = (count: number) =>
    `[${Array(Math.floor(count / 3))
      .fill('[1,2]')
      .join()}${count % 3 ? ',1' : ''}]`
  for (const parse of [parseJsonBody, parseJsonText]) {
    assert.doesNotThrow(() => parse(flat(100_000)))
    assert.doesNotThrow(() => parse(nested(100_000)))
    assert.throws(() => parse(flat(100_001)), refused(/^request body has more than 100000 items in its arrays$/))
    assert.throws(() => parse(nested(100_002)), refused(/more than 100000 items/))
  }
})
