import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hasValidMarks, headerValue, mirroredHeaders, plainValue } from './mirrored-headers.ts'

for (const value of ['plain', '', ' outer ', 'ünïcode', 'a\nb', '=?base64?x?='])
  test(`a header carries ${JSON.stringify(value)} and gives it back`, () => {
    assert.match(headerValue(value), /^[\x20-\x7e]*$/)
    assert.equal(plainValue(headerValue(value)), value)
  })

const schema = (properties: object) => ({ type: 'object', properties })

test('method, name and marked parameters are repeated in headers', () => {
  const inputSchema = schema({
    region: { type: 'string', 'x-mcp-header': 'Region' },
    deep: schema({ count: { type: 'integer', 'x-mcp-header': 'Count' } }),
    other: { type: 'string' },
  })
  const params = { name: 'query', arguments: { region: 'eu', deep: { count: 3 }, other: 'x' } }
  assert.deepEqual(mirroredHeaders('tools/call', params, inputSchema), {
    'mcp-method': 'tools/call',
    'mcp-name': 'query',
    'mcp-param-region': 'eu',
    'mcp-param-count': '3',
  })
  assert.deepEqual(mirroredHeaders('resources/read', { uri: 'file:///a' }, undefined)['mcp-name'], 'file:///a')
  assert.deepEqual(mirroredHeaders('tools/list', {}, undefined), { 'mcp-method': 'tools/list' })
})

test('marks must be unique and on primitive types', () => {
  const marked = (type: string, name = 'X') => ({ type, 'x-mcp-header': name })
  assert.equal(hasValidMarks(schema({ a: marked('string'), b: marked('number', 'Y') })), true)
  assert.equal(hasValidMarks(schema({ a: marked('string'), b: marked('number', 'x') })), false)
  assert.equal(hasValidMarks(schema({ a: marked('array') })), false)
  assert.equal(hasValidMarks(schema({ a: marked('string', 'a b') })), false)
})
