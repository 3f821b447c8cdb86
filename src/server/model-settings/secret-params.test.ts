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

test('shown parameters contain no secret, and all secrets are extracted', () => {
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

test('parameters without secrets are shown unchanged, and there is nothing to encrypt', () => {
  const plain = { model: 'ollama/x', deny: ['a.b'], timeouts: { total_ms: 5 } }
  assert.deepEqual(shownParams(plain), plain)
  assert.equal(secretsOf(plain), undefined)
})

test('a change keeps omitted parameters, removes null ones, and replaces the rest', () => {
  const changed = mergedParams(params, { weight: null, api_key: 'new', headers: { a: 'b' }, rpm: 7 })
  const { weight: _, ...rest } = params
  assert.deepEqual(changed, { ...rest, api_key: 'new', headers: { a: 'b' }, rpm: 7 })
})

test('a service account object is stored as text', () => {
  assert.deepEqual(mergedParams({}, { vertex_credentials: { a: 1 } }), { vertex_credentials: '{"a":1}' })
})
