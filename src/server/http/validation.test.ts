import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { FastifySchemaValidationError } from 'fastify'
import { type TSchema, Type } from 'typebox'
import { eventRoutes } from '../../contract/event-routes.ts'
import { PromptRequest } from '../../contract/prompts.ts'
import { createValidatorCompiler, validationMessage } from './validation.ts'

/** Returns the message for the caller; undefined if the value is valid. */
function messageFor(schema: TSchema, httpPart: string, value: unknown): string | undefined {
  const compile = createValidatorCompiler()
  const validate = compile({ schema, httpPart } as Parameters<typeof compile>[0])
  const result = validate(value) as { error?: FastifySchemaValidationError[] }
  return result.error && validationMessage(result.error, httpPart)
}

const model = { modelID: 'demo' }
const parts = [{ type: 'text', text: 'hi' }]

const bodies: readonly (readonly [unknown, string | undefined])[] = [
  [{ model, parts }, undefined],
  [{ model, parts, somethingElse: 1 }, undefined],
  [{ parts }, undefined],
  [{ model: {}, parts }, 'model.modelID is required'],
  [{ model: { modelID: ' ' }, parts }, 'model.modelID must not be blank'],
  [{ model: { modelID: 1 }, parts }, 'model.modelID must be string'],
  [{ model, parts: [] }, 'parts must not be empty'],
  [{ model, parts: 'hi' }, 'parts must be array'],
  [{ model, parts: [{ type: 'text' }] }, 'parts[0].text is required'],
  [{ model, parts: [...parts, { type: 'text', text: '\n' }] }, 'parts[1].text must not be blank'],
  [{ model, parts: [{ type: 'audio', text: 'x' }] }, 'parts[0].type must be one of "text", "file"'],
  [null, 'body must be object'],
]

for (const [body, message] of bodies) {
  test(`a prompt body ${JSON.stringify(body)} ${message === undefined ? 'passes' : `is rejected: ${message}`}`, () => {
    assert.equal(messageFor(PromptRequest, 'body', body), message)
  })
}

test('an unknown mode is rejected with a list of the known ones', () => {
  const message = messageFor(PromptRequest, 'body', { model, parts, mode: 'soon' })
  for (const mode of ['mode', 'enqueue', 'reject', 'interrupt', 'steer']) assert.match(message ?? '', new RegExp(mode))
})

test('the error of an optional or nullable field describes its non-null type', () => {
  const role = Type.Union([Type.Literal('user'), Type.Literal('admin'), Type.Null()])
  const body = Type.Union([Type.Object({ role: Type.Optional(role) }), Type.Null()])
  assert.equal(messageFor(body, 'body', { role: 'root' }), 'role must be one of "user", "admin"')
  assert.equal(messageFor(body, 'body', []), 'body must be object')
  assert.equal(messageFor(Type.Null(), 'body', 1), 'body must be null')
})

test('a field that an object does not have is rejected with its name', () => {
  const schema = Type.Object({ author: Type.Object({ name: Type.String() }, { additionalProperties: false }) })
  const message = messageFor(schema, 'body', { author: { name: 'Ada', mail: 'x' } })
  assert.equal(message, 'author has the unknown field "mail"')
})

test('numbers are parsed from text in queries but not in bodies', () => {
  const { query } = eventRoutes.list
  const asked = { limit: '5' }
  assert.equal(messageFor(query, 'querystring', asked), undefined)
  assert.deepEqual(asked, { limit: 5 })
  assert.match(messageFor(query, 'querystring', { limit: 'many' }) ?? '', /^limit must be integer/)
  assert.match(messageFor(query, 'querystring', { limit: '5000' }) ?? '', /^limit must be <= 1000/)
  assert.match(messageFor(query, 'body', { limit: '5' }) ?? '', /^limit must be integer/)
})
