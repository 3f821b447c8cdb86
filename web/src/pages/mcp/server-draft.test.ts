import assert from 'node:assert/strict'
import { test } from 'node:test'
import { draftOf, writeOf } from './server-draft.ts'

const empty = draftOf(undefined)
const draft = { ...empty, server_name: ' tickets ', url: 'https://tools.example.com/mcp' }
const base = {
  server_name: 'tickets',
  url: 'https://tools.example.com/mcp',
  description: null,
  require_approval: 'never',
}

test('a server without authentication', () =>
  assert.deepEqual(writeOf({ ...draft, authValue: 'of another choice' }, undefined), { ...base, auth_type: 'none' }))

test('a token, or the name of a vault entry', () => {
  assert.deepEqual(writeOf({ ...draft, auth: 'bearer_token', authValue: 'secret' }, undefined), {
    ...base,
    auth_type: 'bearer_token',
    credentials: { auth_value: 'secret' },
  })
  assert.deepEqual(writeOf({ ...draft, auth: 'api_key', vaultKey: 'TOKEN' }, undefined), {
    ...base,
    auth_type: 'api_key',
    vault_key: 'TOKEN',
  })
})

test('OAuth with the login of each person needs no credential', () =>
  assert.deepEqual(writeOf({ ...draft, auth: 'authorization_code', scopes: 'read  write' }, undefined), {
    ...base,
    auth_type: 'oauth2',
    oauth2_flow: 'authorization_code',
    credentials: { scopes: ['read', 'write'] },
  }))

test('tools that need approval are a list without doubles', () => {
  const write = writeOf({ ...draft, approval: 'some', approvalTools: 'a, b,, a' }, undefined)
  assert.deepEqual(write.require_approval, ['a', 'b'])
})
