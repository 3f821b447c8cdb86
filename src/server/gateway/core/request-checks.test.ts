import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readRequest } from './request.ts'

const limitOf = (limits: object) => {
  const body = Buffer.from(JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'hi' }], ...limits }))
  return readRequest({ kind: 'chat', body }).maxTokens
}

test('of two limits of a chat the greater one counts: servers differ in which one they read', () => {
  assert.equal(limitOf({ max_completion_tokens: 1, max_tokens: 9_000 }), 9_000)
  assert.equal(limitOf({ max_completion_tokens: 9_000, max_tokens: 1 }), 9_000)
  assert.equal(limitOf({ max_completion_tokens: 5, max_tokens: null }), 5)
  assert.equal(limitOf({ max_tokens: 5 }), 5)
  assert.equal(limitOf({}), 0)
})
