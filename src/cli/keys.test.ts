import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runLine, scriptedService } from '../../test/support/service/command-line.ts'
import type { ApiKey } from '../contract/keys.ts'

const secret = `sk-${'A'.repeat(46)}`
const record = (changes: Partial<ApiKey> = {}): ApiKey => ({
  id: 'key_1',
  parent_id: null,
  label: 'Laptop',
  user_id: null,
  team_id: null,
  is_sign_in: false,
  owner_id: null,
  role: 'user',
  models: [],
  passthrough: [],
  mcp_servers: null,
  mcp_tools: null,
  cache: null,
  log_bodies: null,
  max_budget: null,
  soft_budget: null,
  budget_duration: null,
  budget_reset_at: null,
  spend: 0,
  reserved: 0,
  rpm_limit: null,
  tpm_limit: null,
  max_parallel_requests: null,
  metadata: {},
  prefix: 'sk-AbCd',
  last4: 'wxYZ',
  created_at: '1970-01-01T00:00:00.000Z',
  created_by: 'master',
  last_used_at: null,
  expires_at: null,
  revoked_at: null,
  ...changes,
})

test('keys ls prints one key per line for any label, and the cursor', async () => {
  const keys = [
    record({ owner_id: 'ada', max_budget: 20, budget_duration: '30d', spend: 1.5, label: 'A\u001b[2J\nB' }),
    record({
      id: 'key_22',
      role: 'admin',
      last_used_at: '1970-01-01T00:00:00.000Z',
      revoked_at: '1970-01-01T00:00:00.000Z',
    }),
    record({ id: 'key_3', expires_at: '1970-01-01T00:01:00.000Z' }),
  ]
  const { fetch, seen } = scriptedService({ 'GET /api/keys': () => Response.json({ keys, next_cursor: 'c2' }) })
  const { code, stdout, stderr } = await runLine(['keys', 'ls', '--limit', '3', '--owner', 'ada', '--all'], {
    fetch,
    nowMs: () => 120_000,
  })
  assert.equal(code, 0)
  assert.deepEqual(stdout.split('\n'), [
    'ID      KEY           STATE    ROLE   OWNER  SPENT                 USED       LABEL',
    'key_1   sk-AbCd…wxYZ  valid    user   ada    $1.50 of $20 per 30d  never      A B',
    'key_22  sk-AbCd…wxYZ  revoked  admin  -      $0.00                 2 min ago  Laptop',
    'key_3   sk-AbCd…wxYZ  expired  user   -      $0.00                 never      Laptop',
    '',
  ])
  assert.equal(stderr, 'More: --cursor c2\n')
  assert.equal(seen[0]?.call, 'GET /api/keys?limit=3&owner_id=ada&include_revoked=true')
})

test('keys list is an alias of keys ls and says how to create the first key', async () => {
  const { fetch } = scriptedService({ 'GET /api/keys': () => Response.json({ keys: [], next_cursor: null }) })
  const { stdout } = await runLine(['keys', 'list'], { fetch })
  assert.match(stdout, /switchyard keys create/)
})

test('keys create prints only the key to standard output, for scripts', async () => {
  const { fetch, seen } = scriptedService({ 'POST /api/keys': () => Response.json({ ...record(), key: secret }) })
  const { code, stdout, stderr } = await runLine(['keys', 'create'], { fetch })
  assert.equal(code, 0)
  assert.equal(stdout, `${secret}\n`)
  assert.match(stderr, /key_1.*not shown again/)
  assert.deepEqual(seen[0]?.body, {})
})

test('keys create sends each option as its field', async () => {
  const { fetch, seen } = scriptedService({ 'POST /api/keys': () => Response.json({ ...record(), key: secret }) })
  const options =
    '--label ci --owner ada --role admin --model sonnet openai/* --budget 12.5 --per 30d --warn-at 10 --expires-in 90d --rpm 60 --tpm 5000000000 --parallel 4'
  const { stdout } = await runLine(['keys', 'create', ...options.split(' '), '--json'], { fetch })
  assert.deepEqual(seen[0]?.body, {
    label: 'ci',
    owner_id: 'ada',
    role: 'admin',
    models: ['sonnet', 'openai/*'],
    max_budget: 12.5,
    budget_duration: '30d',
    soft_budget: 10,
    duration: '90d',
    rpm_limit: 60,
    tpm_limit: 5_000_000_000,
    max_parallel_requests: 4,
  })
  assert.equal(JSON.parse(stdout).key, secret)
})

test('keys rotate prints the new key and sends a grace period only if given', async () => {
  const { fetch, seen } = scriptedService({
    'POST /api/keys/key_1/rotate': () => Response.json({ ...record(), key: secret }),
  })
  assert.equal((await runLine(['keys', 'rotate', 'key_1'], { fetch })).stdout, `${secret}\n`)
  await runLine(['keys', 'rotate', 'key_1', '--grace', '24h'], { fetch })
  assert.deepEqual(
    seen.map(({ body }) => body),
    [{}, { grace: '24h' }],
  )
})

test('keys revoke prints the revoked key', async () => {
  const { fetch } = scriptedService({ 'DELETE /api/keys/key_1': () => new Response(null, { status: 204 }) })
  const { code, stdout } = await runLine(['keys', 'revoke', 'key_1', '--yes'], { fetch })
  assert.deepEqual([code, stdout], [0, '✓ revoked key_1\n'])
  assert.deepEqual(JSON.parse((await runLine(['keys', 'revoke', 'key_1', '--yes', '--json'], { fetch })).stdout), {
    id: 'key_1',
    revoked: true,
  })
})

test('an invalid amount is rejected before a request is sent', async () => {
  for (const amount of ['ten', '-1', '1e3', '', '$5']) {
    const { code, stderr } = await runLine(['keys', 'create', '--budget', amount])
    assert.equal(code, 2, amount)
    assert.match(stderr, /US dollars/)
  }
})
