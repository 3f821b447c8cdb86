import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mergedParams, secretsOf, shownParams } from './secret-params.ts'

const canary = 'canary-0123456789-wxyz'
const params = {
  model: 'bedrock/x',
  weight: 2,
  api_key: canary,
  aws_access_key_id: canary,
  aws_secret_access_key: canary,
  aws_session_token: canary,
  vertex_credentials: `{"private_key":"${canary}"}`,
  headers: { 'x-team': canary, authorization: `Bearer ${canary}` },
}

test('what is shown of parameters holds no secret, and what is secret is complete', () => {
  const shown = shownParams(params)
  assert.doesNotMatch(JSON.stringify(shown), /canary|0123456789/)
  assert.deepEqual(shown, {
    model: 'bedrock/x',
    weight: 2,
    api_key: '…wxyz',
    aws_access_key_id: '…wxyz',
    aws_secret_access_key: '…wxyz',
    aws_session_token: '…wxyz',
    vertex_credentials: '…',
    headers: { 'x-team': '…wxyz', authorization: '…wxyz' },
  })
  assert.deepEqual({ ...shown, ...secretsOf(params) }, params)
})

test('parameters without a secret are shown as they are, and nothing is left to seal', () => {
  const plain = { model: 'ollama/x', deny: ['a.b'], timeouts: { total_ms: 5 } }
  assert.deepEqual(shownParams(plain), plain)
  assert.equal(secretsOf(plain), undefined)
})

test('a change keeps what it does not name, takes away what is null, and replaces the rest', () => {
  const changed = mergedParams(params, { weight: null, api_key: 'new', headers: { a: 'b' }, rpm: 7 })
  const { weight: _, ...rest } = params
  assert.deepEqual(changed, { ...rest, api_key: 'new', headers: { a: 'b' }, rpm: 7 })
})

test('a service account that comes as an object is kept as its text', () => {
  assert.deepEqual(mergedParams({}, { vertex_credentials: { a: 1 } }), { vertex_credentials: '{"a":1}' })
})
