import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ApiKey } from '../../../../src/contract/keys.ts'
import { objectIn } from '../../data/json.ts'
import { dayOf, draftOf, emptyDraft, keyWrite, matchesOf } from './key-draft.ts'

const key: ApiKey = {
  id: 'key_1',
  parent_id: null,
  label: 'ci',
  user_id: null,
  team_id: null,
  is_sign_in: false,
  owner_id: 'ada',
  role: 'user',
  models: ['demo'],
  passthrough: [],
  mcp_servers: [],
  mcp_tools: null,
  cache: { ttl: '1h' },
  log_bodies: null,
  max_budget: 20,
  soft_budget: null,
  budget_duration: null,
  budget_reset_at: null,
  spend: 1,
  reserved: 0,
  rpm_limit: 60,
  tpm_limit: null,
  max_parallel_requests: null,
  metadata: { team: 'a' },
  prefix: 'sk-abcd',
  last4: 'wxyz',
  created_at: '2026-11-01T00:00:00.000Z',
  created_by: 'master',
  last_used_at: null,
  expires_at: '2026-12-24T10:11:12.345Z',
  revoked_at: null,
}

test('a new key is sent with the fields that were filled in only', () => {
  assert.deepEqual(keyWrite(emptyDraft, emptyDraft), {})
  const draft = { ...emptyDraft, label: ' ci ', max_budget: 20, models: ['demo'], metadata: '{"a": 1}' }
  const expected = { label: 'ci', models: ['demo'], max_budget: 20, budget_duration: '1mo', metadata: { a: 1 } }
  assert.deepEqual(keyWrite(draft, emptyDraft), expected)
})

test('an unchanged key sends nothing, not even the time of day at which it expires', () => {
  assert.deepEqual(keyWrite(draftOf(key), draftOf(key)), {})
})

test('a changed key sends what changed; emptied fields are null', () => {
  const before = draftOf(key)
  const after = { ...before, owner_id: '', rpm_limit: '', expires: '', mcp_servers: null, cache_ttl: '' } as const
  const expected = { owner_id: null, rpm_limit: null, expires_at: null, mcp_servers: null, cache: null }
  assert.deepEqual(keyWrite(after, before), expected)
  assert.deepEqual(keyWrite({ ...before, max_budget: 0 }, before), { max_budget: 0 })
})

test('a key lives until the end of its last day', () => {
  const { expires_at } = keyWrite({ ...emptyDraft, expires: '2026-12-31' }, emptyDraft)
  assert.equal(expires_at, new Date(2026, 11, 31, 23, 59, 59).toISOString())
  assert.equal(dayOf(new Date(expires_at ?? '')), '2026-12-31')
})

test('metadata is a JSON object', () => {
  assert.deepEqual(objectIn(' '), {})
  assert.deepEqual(objectIn('{"a": [1]}'), { a: [1] })
  for (const wrong of ['{', '[]', '1', 'null']) assert.equal(objectIn(wrong), undefined)
})

test('an entry of a key matches a name, or all names with its beginning', () => {
  const models = ['claude-a', 'claude-b', 'claude', 'gpt']
  assert.deepEqual(matchesOf('claude-*', models), ['claude-a', 'claude-b'])
  assert.deepEqual(matchesOf('claude', models), ['claude'])
  assert.deepEqual(matchesOf('*', models), models)
})
