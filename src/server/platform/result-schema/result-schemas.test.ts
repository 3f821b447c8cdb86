import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createResultSchemas } from './result-schemas.ts'

const schemas = createResultSchemas()

const refused: readonly [string, unknown, RegExp][] = [
  ['no object', ['string'], /^must be a JSON Schema object$/],
  ['a type that does not exist', { type: 'objekt' }, /^is not a valid JSON Schema: .*type/],
  ['a reference elsewhere', { $ref: 'https://example.com/schema' }, /^is not a valid JSON Schema.*example\.com/],
  ['asynchronous code', { $async: true, type: 'object' }, /\$async/],
  ['too many bytes', { description: 'x'.repeat(70_000) }, /^must have at most 65536 bytes$/],
  ['too many levels', nested(10_000), /^is nested too deeply$/],
]

function nested(levels: number): object {
  let schema: object = { type: 'object' }
  for (let level = 0; level < levels; level++) schema = { allOf: [schema] }
  return schema
}

for (const [what, schema, words] of refused) {
  test(`a schema with ${what} is rejected`, async () => {
    assert.match((await schemas.schemaProblem(schema)) ?? 'taken', words)
  })
}

test('schemas of old and new drafts are accepted', async () => {
  const draft7 = { $schema: 'http://json-schema.org/draft-07/schema#', items: [{ type: 'string' }] }
  const draft2020 = { $schema: 'https://json-schema.org/draft/2020-12/schema', prefixItems: [{ type: 'string' }] }
  assert.deepEqual(await Promise.all([draft7, draft2020].map(schemas.schemaProblem)), [undefined, undefined])
  assert.match((await schemas.mismatch(draft7, [1])) ?? '', /^\[0\] must be string$/)
  assert.match((await schemas.mismatch(draft2020, [1])) ?? '', /^\[0\] must be string$/)
})

const order = {
  type: 'object',
  properties: { items: { type: 'array', items: { type: 'object', properties: { price: { type: 'number' } } } } },
  required: ['items'],
  additionalProperties: false,
}

test('a mismatch is reported with its path', async () => {
  assert.equal(await schemas.mismatch(order, { items: [] }), undefined)
  assert.equal(await schemas.mismatch(order, { items: [{}, { price: '7' }] }), 'items[1].price must be number')
  assert.equal(await schemas.mismatch(order, {}), "it must have required property 'items'")
  assert.match((await schemas.mismatch(order, { items: [], id: 1 })) ?? '', /additional properties "id"/)
})

test('a never-ending pattern fails only its own check: the process stays responsive, and the next check works', async () => {
  const limited = createResultSchemas({ checkMs: 1_000, idleMs: 1_000 })
  const evil = { type: 'string', pattern: '^(a+)+$' }
  let ticks = 0
  const timer = setInterval(() => ticks++, 10)
  const [slow, next] = await Promise.all([
    limited.mismatch(evil, `${'a'.repeat(50)}!`),
    limited.mismatch({ type: 'string' }, 'b'),
  ])
  clearInterval(timer)
  assert.equal(slow, 'it takes too long to check')
  assert.equal(next, undefined)
  assert.ok(ticks > 3, `${ticks} ticks of the clock while the check ran`)
})
