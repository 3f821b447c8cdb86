import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { deploymentAt, targetAt } from '../../../../test/support/gateway/gateway-app.ts'
import { withClaudeSchema } from './claude-schema.ts'
import { surveyOf } from './survey.ts'

const claude = targetAt(deploymentAt('http://127.0.0.1:1'), 'claude-opus-5-5')
const other = targetAt(deploymentAt('http://127.0.0.1:1'), 'kimi-k3')

function adapted(schema: unknown, target = claude) {
  const notes: string[] = []
  const request = { messages: [], output_config: { effort: 'low', format: { type: 'json_schema', schema } } }
  const note = (path: string, action: string) => void notes.push(`${path}=${action}`)
  const result = withClaudeSchema(request, { target, survey: surveyOf(request), note })
  const { output_config: config } = result as typeof request
  return { schema: config.format.schema, isSame: result === request, notes }
}

test('unsupported keywords move to the description, objects are closed, and both are reported', () => {
  const age = { type: 'integer', description: 'In years.', minimum: 0, maximum: 150 }
  const tags = { type: 'array', items: { type: 'string', maxLength: 5 }, minItems: 2 }
  const { schema, notes } = adapted({ type: 'object', properties: { age, tags }, required: ['age'] })
  assert.deepEqual(schema, {
    type: 'object',
    properties: {
      age: { type: 'integer', description: 'In years. (minimum: 0, maximum: 150)' },
      tags: {
        type: 'array',
        items: { type: 'string', description: '(maxLength: 5)' },
        description: '(minItems: 2)',
      },
    },
    required: ['age'],
    additionalProperties: false,
  })
  const at = 'output_config.format.schema'
  assert.deepEqual(notes, [
    `${at}.properties.age.minimum=described`,
    `${at}.properties.age.maximum=described`,
    `${at}.properties.tags.items.maxLength=described`,
    `${at}.properties.tags.minItems=described`,
    `${at}.additionalProperties=closed`,
  ])
})

test('properties with such names and supported keywords stay, and oneOf becomes anyOf', () => {
  const { schema } = adapted({
    type: 'object',
    properties: { minimum: { type: 'string', format: 'date' }, format: { type: 'array', items: {}, minItems: 1 } },
    additionalProperties: false,
  })
  assert.deepEqual(schema, {
    type: 'object',
    properties: { minimum: { type: 'string', format: 'date' }, format: { type: 'array', items: {}, minItems: 1 } },
    additionalProperties: false,
  })
  assert.deepEqual(adapted({ oneOf: [{ type: 'string', format: 'color' }, { type: 'null' }] }).schema, {
    anyOf: [{ type: 'string', description: '(format: "color")' }, { type: 'null' }],
  })
})

test('a supported schema, a schema for another model and an invalid schema stay unchanged', () => {
  const fine = { type: 'object', properties: { a: { type: 'string' } }, additionalProperties: false }
  assert.ok(adapted(fine).isSame)
  assert.ok(adapted({ type: 'object', properties: { a: { type: 'string', maxLength: 1 } } }, other).isSame)
  for (const schema of [undefined, null, 5, 'x', []]) assert.ok(adapted(schema).isSame)
})

test('any JSON is adapted without an error, and adapting twice equals adapting once', () => {
  fc.assert(
    fc.property(
      fc.dictionary(fc.constantFrom('type', 'items', 'properties', 'minimum', 'anyOf', 'x'), fc.jsonValue()),
      given => {
        const once = adapted(given).schema
        assert.deepEqual(adapted(once).schema, once)
      },
    ),
  )
  let deep: object = { type: 'string', maxLength: 1 }
  for (let depth = 0; depth < 50_000; depth++) deep = { type: 'array', items: deep }
  assert.ok(adapted(deep).isSame)
})
