import assert from 'node:assert/strict'
import { test } from 'node:test'
import fastJsonStringify from 'fast-json-stringify'
import { allRoutes } from '../../contract/api.ts'
import { createSerializerCompiler } from './serialization.ts'

test('the schema of every response compiles', () => {
  for (const { id, responses } of allRoutes)
    for (const [status, schema] of Object.entries(responses))
      if (schema) assert.doesNotThrow(() => fastJsonStringify(schema), `${id} ${status}`)
})

test('a serializer drops fields that the schema does not name, in every response', () => {
  const compile = createSerializerCompiler()
  const schema = { type: 'object', properties: { id: { type: 'string' } } }
  const serialize = compile({ schema, method: 'GET', url: '/', httpStatus: '200' })
  for (const id of ['a', 'b']) assert.equal(serialize({ id, secret: 'x' }), `{"id":"${id}"}`)
})
