import assert from 'node:assert/strict'
import { test } from 'node:test'
import { messageOf, startKeysApp } from '../../../test/support/keys/keys-app.ts'
import { freshDatabase } from '../../../test/support/service/database.ts'
import type { ApiKey } from '../../contract/keys.ts'

const { pool } = await freshDatabase()
const { call, made, read, opens } = startKeysApp(pool)

test('S08: a user key is 403 on every keys route, and an unknown key is 401', async () => {
  const { id, key } = await made()
  const lines = [
    'GET /api/keys',
    'POST /api/keys',
    `GET /api/keys/${id}`,
    `PATCH /api/keys/${id}`,
    `POST /api/keys/${id}/rotate`,
    `DELETE /api/keys/${id}`,
  ]
  for (const line of lines) {
    const answer = await call(line, { as: key, ...(line.startsWith('P') && { body: { role: 'admin' } }) })
    assert.equal(answer.status, 403, line)
    const message = 'this operation needs the master key or a key of role admin'
    assert.deepEqual(answer.json(), { error: { type: 'gateway_error', message } })
  }
  assert.equal((await read(id)).role, 'user')
})

test('S08: an admin key without limits may do what the master key may', async () => {
  const { key, id } = await made({ role: 'admin' })
  const child = await made({ role: 'admin', owner_id: 'anybody', max_budget: 1_000 }, { as: key })
  assert.equal(child.created_by, id)
  assert.equal((await call(`POST /api/keys/${child.id}/rotate`, { as: key })).status, 200)
  assert.equal((await call(`DELETE /api/keys/${child.id}`, { as: key })).status, 204)
})

/** Returns a key without last_used_at, which is written some time after each use. */
async function settingsOf(id: string): Promise<Omit<ApiKey, 'last_used_at'>> {
  const { last_used_at: _, ...settings } = await read(id)
  return settings
}

const narrow = {
  role: 'admin' as const,
  owner_id: 'ada',
  models: ['sonnet', 'openai/*'],
  max_budget: 10,
  budget_duration: '30d',
  rpm_limit: 60,
  tpm_limit: 1_000,
  max_parallel_requests: 2,
}

test('S08: a key created by an admin key inherits the omitted fields from it', async () => {
  const { key, expires_at } = await made({ ...narrow, duration: '1d', label: 'parent', metadata: { a: 1 } })
  const child = await made({ label: 'child' }, { as: key })
  assert.deepEqual(
    { ...narrow, role: 'user', expires_at, label: 'child', metadata: {} },
    Object.fromEntries(
      [...Object.keys(narrow), 'expires_at', 'label', 'metadata'].map(name => [name, child[name as keyof ApiKey]]),
    ),
  )
})

for (const [more, field, limit] of [
  [{ models: [] }, 'models', 'allowed: sonnet, openai/*'],
  [{ models: ['opus'] }, 'models', 'allowed: sonnet, openai/*'],
  [{ expires_at: null }, 'expires_at', undefined],
  [{ duration: '2d' }, 'expires_at', undefined],
  [{ max_budget: null }, 'max_budget', '10.00 USD'],
  [{ max_budget: 10.01 }, 'max_budget', '10.00 USD'],
  [{ budget_duration: '1d' }, 'budget_duration', '30d'],
  [{ rpm_limit: 61 }, 'rpm_limit', '60 requests per minute'],
  [{ tpm_limit: null }, 'tpm_limit', '1000 tokens per minute'],
  [{ max_parallel_requests: 3 }, 'max_parallel_requests', '2'],
  [{ owner_id: 'bob' }, undefined, undefined],
  [{ owner_id: null }, undefined, undefined],
] as const) {
  test(`S08: an admin key can neither create nor become a key that exceeds it: ${JSON.stringify(more)}`, async () => {
    const own = await made({ ...narrow, duration: '1d' })
    const child = await made({}, { as: own.key })
    const before = [await settingsOf(own.id), await settingsOf(child.id)]
    for (const line of ['POST /api/keys', `PATCH /api/keys/${child.id}`, `PATCH /api/keys/${own.id}`]) {
      const answer = await call(line, { as: own.key, body: more })
      assert.equal(answer.status, 403, line)
      const expected =
        field === undefined
          ? 'owner_id must be ada, the owner of this key'
          : `${field} exceeds the limit of your own key (${limit ?? own.expires_at})`
      assert.equal(messageOf(answer), expected)
    }
    assert.deepEqual([await settingsOf(own.id), await settingsOf(child.id)], before)
    const count = await pool.query('select count(*) as n from api_keys where created_by = $1', ['ada'])
    const { n } = count.rows[0]
    await call('POST /api/keys', { as: own.key, body: more })
    assert.equal((await pool.query('select count(*) as n from api_keys where created_by = $1', ['ada'])).rows[0].n, n)
  })
}

test('S08: an admin key can neither rotate nor change a key that exceeds it', async () => {
  const own = await made({ role: 'admin', models: ['sonnet'] })
  const strong = await made({ role: 'admin' })
  assert.equal((await call(`POST /api/keys/${strong.id}/rotate`, { as: own.key })).status, 404)
  assert.equal((await call(`PATCH /api/keys/${strong.id}`, { as: own.key, body: { label: 'mine' } })).status, 404)
  assert.equal(await opens(strong.key), true)
})

test('S10: an admin key with an owner sees and changes only keys of that owner', async () => {
  const own = await made({ role: 'admin', owner_id: 'ada' })
  const foreign = await made({ owner_id: 'bob' })
  const free = await made()
  for (const { id } of [foreign, free]) {
    const before = await read(id)
    for (const line of [
      `GET /api/keys/${id}`,
      `PATCH /api/keys/${id}`,
      `POST /api/keys/${id}/rotate`,
      `DELETE /api/keys/${id}`,
    ]) {
      const answer = await call(line, { as: own.key, ...(line.startsWith('P') && { body: {} }) })
      assert.equal(answer.status, 404, line)
    }
    assert.deepEqual(await read(id), before)
  }
  for (const query of ['', '?owner_id=bob', '?include_revoked=true']) {
    const { keys: seen } = (await call(`GET /api/keys${query}`, { as: own.key })).json<{ keys: ApiKey[] }>()
    assert.ok(
      seen.every(({ owner_id }) => owner_id === 'ada'),
      query,
    )
  }
})
