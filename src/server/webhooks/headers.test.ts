import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isSecretHeader, loggedHeaders } from './headers.ts'

test('S17: only headers without a secret are logged', () => {
  const headers = {
    authorization: 'Bearer x',
    cookie: 'x',
    'x-api-key': 'x',
    'x-hub-signature-256': 'x',
    'webhook-signature': 'x',
    'x-gitlab-token': 'x',
    'x-anything': 'x',
    'user-agent': 'y'.repeat(500),
    'webhook-id': 'msg_1',
    'x-github-event': 'push',
  }
  const kept = loggedHeaders(headers, ['X-Anything', 'Authorization', 'X-Gitlab-Token'])
  assert.deepEqual(Object.keys(kept).sort(), ['user-agent', 'webhook-id', 'x-anything', 'x-github-event'])
  assert.equal(kept['user-agent']?.length, 200)
})

test('S17: a header with a secret cannot be the delivery id', () => {
  for (const name of [
    'Authorization',
    'cookie',
    'X-Api-Key',
    'x-hub-signature-256',
    'X-Gitlab-Token',
    'x-shopify-hmac-sha256',
  ])
    assert.ok(isSecretHeader(name), name)
  for (const name of ['x-delivery-id', 'webhook-id', 'x-request-id']) assert.ok(!isSecretHeader(name), name)
})
