import assert from 'node:assert/strict'
import { test } from 'node:test'
import { redacted } from './redact.ts'

test('values whose names look like secrets are masked, at any depth', () => {
  const payload = { user: 'ana', password: 'p', deep: [{ api_key: 'k', accessToken: 7, note: 'x' }], secret: null }
  const { text, count } = redacted(JSON.stringify(payload))
  assert.equal(count, 3)
  assert.deepEqual(JSON.parse(text), {
    user: 'ana',
    password: '••••••',
    deep: [{ api_key: '••••••', accessToken: '••••••', note: 'x' }],
    secret: null,
  })
})

test('objects below such a name keep their other members', () =>
  assert.deepEqual(JSON.parse(redacted('{"credentials": {"user": "ana", "token": "t"}}').text), {
    credentials: { user: 'ana', token: '••••••' },
  }))

test('text that is not JSON stays as it is', () => assert.deepEqual(redacted('plain'), { text: 'plain', count: 0 }))
