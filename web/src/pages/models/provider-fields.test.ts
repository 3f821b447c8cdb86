import assert from 'node:assert/strict'
import { test } from 'node:test'
import { credentialOf, fieldsOf, isComplete } from './provider-fields.ts'

const names = (id: string, default_api_base: string | null = null) =>
  fieldsOf({ id, default_api_base }).map(({ name, isRequired }) => `${name}${isRequired ? '!' : ''}`)

test('each provider asks for its own fields', () => {
  assert.deepEqual(names('anthropic', 'https://api.anthropic.com'), ['api_key!', 'api_base'])
  assert.deepEqual(names('azure'), ['api_base!', 'api_key!'])
  assert.deepEqual(names('ollama', 'http://127.0.0.1:11434'), ['api_base'])
  assert.deepEqual(names('vertex'), ['vertex_credentials!', 'vertex_project', 'vertex_location'])
  assert.deepEqual(names('some-later-provider'), ['api_key!', 'api_base!'])
})

test('a credential has the fields that were filled in', () => {
  assert.deepEqual(credentialOf({ api_key: ' sk-1\n', api_base: ' ' }), { api_key: 'sk-1' })
  const fields = fieldsOf({ id: 'openai', default_api_base: 'https://api.openai.com/v1' })
  assert.equal(isComplete(fields, { api_base: 'https://a.example' }), false)
  assert.equal(isComplete(fields, { api_key: 'sk-1' }), true)
})
