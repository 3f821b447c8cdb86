import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { messageOf, startKeysApp } from '../../../test/support/keys/keys-app.ts'
import { freshDatabase } from '../../../test/support/service/database.ts'
import { eventually } from '../../../test/support/service/eventually.ts'
import type { ApiKey, ShownApiKey } from '../../contract/keys.ts'
import { createPool } from '../db/connect.ts'

const { pool } = await freshDatabase()
const { call, made, read, opens } = startKeysApp(pool)
const inMs = (ms: number) => new Date(Date.now() + ms).toISOString()

test('POST /api/keys without a body is 201 with an unlimited user key', async () => {
  const answer = await call('POST /api/keys')
  assert.equal(answer.status, 201)
  const { id, key, prefix, last4, created_at, ...rest } = answer.json<ShownApiKey>()
  assert.match(id, /^key_[0-9a-f]{32}$/)
  assert.match(key, /^sk-[0-9A-Za-z]{46}$/)
  assert.deepEqual([prefix, last4], [key.slice(0, 7), key.slice(-4)])
  assert.match(created_at, /^\d{4}-\d{2}-\d{2}T[\d:.]+Z$/)
  assert.deepEqual(rest, {
    parent_id: null,
    label: '',
    owner_id: null,
    user_id: null,
    team_id: null,
    is_sign_in: false,
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
    created_by: 'master',
    last_used_at: null,
    expires_at: null,
    revoked_at: null,
  })
})

test('POST /api/keys stores every field, and GET returns all except the key', async () => {
  const fields = {
    label: 'Ada’s laptop',
    owner_id: 'ada',
    role: 'admin' as const,
    models: ['sonnet', 'openai/*'],
    passthrough: ['openai' as const],
    mcp_servers: ['github', 'files'],
    mcp_tools: { files: ['read'] },
    cache: { ttl: '90m' },
    max_budget: 12.345678901,
    soft_budget: 10,
    budget_duration: '1mo',
    rpm_limit: 60,
    tpm_limit: 5_000_000_000,
    max_parallel_requests: 4,
    metadata: { team: 'blue', nested: { list: [1, null] } },
    expires_at: inMs(86_400_000),
  }
  const { key, ...record } = await made(fields)
  const { id } = record
  for (const [name, value] of Object.entries(fields)) assert.deepEqual(record[name as keyof ApiKey], value, name)
  assert.ok(Date.parse(record.budget_reset_at ?? '') > Date.now())
  assert.deepEqual(await read(id), record)
  const { keys: listed } = (await call('GET /api/keys')).json<{ keys: ApiKey[] }>()
  assert.deepEqual(
    listed.find(each => each.id === id),
    record,
  )
  assert.ok(!JSON.stringify(listed).includes(key))
})

test('duration starts now, by the clock of the database', async () => {
  const { expires_at } = await made({ duration: '90d' })
  const days = (Date.parse(expires_at ?? '') - Date.now()) / 86_400_000
  assert.ok(Math.abs(days - 90) < 0.1, `${days} days`)
})

test('GET /api/keys lists keys newest first, in pages, by owner, without revoked ones', async () => {
  const owner_id = 'pages'
  const ids = []
  for (const label of ['one', 'two', 'three', 'four']) ids.unshift((await made({ owner_id, label })).id)
  await call(`DELETE /api/keys/${ids[1]}`)
  const page = async (query: string) => {
    const answer = (await call(`GET /api/keys?owner_id=${owner_id}${query}`)).json<{
      keys: ApiKey[]
      next_cursor: string | null
    }>()
    return { ids: answer.keys.map(({ id }) => id), cursor: answer.next_cursor }
  }
  const left = [ids[0], ids[2], ids[3]]
  assert.deepEqual(await page(''), { ids: left, cursor: null })
  const first = await page('&limit=2')
  assert.deepEqual(first.ids, left.slice(0, 2))
  assert.deepEqual(await page(`&limit=2&cursor=${first.cursor}`), { ids: left.slice(2), cursor: null })
  assert.deepEqual(await page('&include_revoked=true'), { ids, cursor: null })
})

test('GET /api/keys?q= finds keys by a part of the label in any case, and by id, prefix and last4', async () => {
  const { id, prefix, last4 } = await made({ label: 'Grace’s 100% laptop_1' })
  const found = async (q: string) =>
    (await call(`GET /api/keys?q=${encodeURIComponent(q)}`)).json<{ keys: ApiKey[] }>().keys.map(key => key.id)
  for (const q of ['grace’s', '100%', 'TOP_1 ', id, prefix, last4]) assert.deepEqual(await found(q), [id], q)
  assert.deepEqual(await found('100_'), [])
})

test('GET /api/keys?parent_id= lists the keys that a key created', async () => {
  const parent = await made({ role: 'admin', max_budget: 1 })
  const child = await made({ role: 'admin' }, { as: parent.key })
  await made({}, { as: child.key })
  const { keys } = (await call(`GET /api/keys?parent_id=${parent.id}`)).json<{ keys: ApiKey[] }>()
  assert.deepEqual(
    keys.map(({ id }) => id),
    [child.id],
  )
})

test('PATCH /api/keys/{id} keeps absent fields and clears null ones', async () => {
  const { key: _, ...before } = await made({
    label: 'a',
    models: ['x'],
    mcp_servers: ['github'],
    mcp_tools: { github: [] },
    cache: { ttl: '1h' },
    max_budget: 5,
    budget_duration: '7d',
    rpm_limit: 3,
  })
  const url = `PATCH /api/keys/${before.id}`
  assert.deepEqual((await call(url, { body: {} })).json(), before)
  const changed = (await call(url, { body: { label: 'b', max_budget: 7.5, duration: '1h' } })).json<ApiKey>()
  assert.deepEqual([changed.label, changed.max_budget, changed.budget_duration], ['b', 7.5, '7d'])
  assert.ok(Date.parse(changed.expires_at ?? '') > Date.now())
  const nothing = {
    models: null,
    passthrough: null,
    mcp_servers: null,
    mcp_tools: null,
    cache: null,
    max_budget: null,
    budget_duration: null,
    rpm_limit: null,
    expires_at: null,
    metadata: null,
  }
  const cleared = (await call(url, { body: nothing })).json<ApiKey>()
  assert.deepEqual(cleared, {
    ...before,
    label: 'b',
    models: [],
    mcp_servers: null,
    mcp_tools: null,
    cache: null,
    max_budget: null,
    budget_duration: null,
    budget_reset_at: null,
    rpm_limit: null,
  })
})

test('S09: a caller cannot set read-only fields', async () => {
  const own = {
    id: 'key_mine',
    key: 'sk-mine',
    spend: -5,
    reserved: -5,
    created_at: '2020-01-01T00:00:00Z',
    created_by: 'someone',
    last_used_at: '2020-01-01T00:00:00Z',
    revoked_at: '2020-01-01T00:00:00Z',
    prefix: 'sk-mine',
    last4: 'mine',
    budget_reset_at: '2020-01-01T00:00:00Z',
  }
  const { key, ...record } = await made({ ...own, budget_duration: '1d' })
  for (const [name, value] of Object.entries({ ...own, key: own.key }))
    assert.notDeepEqual({ ...record, key }[name as keyof ShownApiKey], value, name)
  for (const [name, value] of Object.entries(own)) {
    const refused = await call(`PATCH /api/keys/${record.id}`, { body: { [name]: value } })
    assert.equal(refused.status, 400, name)
    assert.ok(refused.text.includes(`unknown field \\"${name}\\"`), refused.text)
  }
  assert.deepEqual((await call(`GET /api/keys/${record.id}`)).json<ApiKey>(), record)
})

test('S09: any body is answered with 201 or 400 and never sets read-only fields', async () => {
  const names = ['label', 'owner_id', 'models', 'metadata', 'max_budget', 'budget_duration', 'expires_at', 'duration']
  const others = ['role', 'rpm_limit', 'id', 'created_at', 'spend', '__proto__', 'constructor', 'toString']
  const text = fc.string({ unit: 'binary', maxLength: 20 })
  const value = fc.oneof(
    fc.jsonValue({ maxDepth: 2 }),
    text,
    fc.array(text, { maxLength: 3 }),
    fc.double({ noNaN: true }),
  )
  const body = fc.array(fc.tuple(fc.constantFrom(...names, ...others), value), { maxLength: 6 })
  await fc.assert(
    fc.asyncProperty(body, async entries => {
      // Written as text: an object literal would set the prototype with `__proto__`.
      const json = `{${entries.map(([name, given]) => `${JSON.stringify(name)}:${JSON.stringify(given)}`).join(',')}}`
      const answer = await call('POST /api/keys', { body: json })
      assert.ok([201, 400].includes(answer.status), `${json}: ${answer.text}`)
      if (answer.status === 400) return
      const { key: _, ...record } = answer.json<ShownApiKey>()
      assert.match(record.id, /^key_[0-9a-f]{32}$/)
      assert.deepEqual([record.spend, record.created_by, record.revoked_at], [0, 'master', null])
      assert.deepEqual(await read(record.id), record, json)
    }),
    { numRuns: 300 },
  )
})

for (const [body, field] of [
  [{ label: 7 }, /^label must be string/],
  [{ label: 'x'.repeat(201) }, /^label /],
  [{ owner_id: ' ' }, /^owner_id must not be blank/],
  [{ role: 'root' }, /^role must be one of "user", "admin"/],
  [{ models: 'sonnet' }, /^models must be array/],
  [{ models: [''] }, /^models\[0\] must not be empty/],
  [{ max_budget: -1 }, /^max_budget must be >= 0/],
  [{ max_budget: '5' }, /^max_budget must be number/],
  [{ budget_duration: '30' }, /^budget_duration /],
  [{ budget_duration: '0d' }, /^budget_duration /],
  [{ budget_duration: '1y' }, /^budget_duration /],
  [{ duration: 'soon' }, /^duration /],
  [{ duration: '1d', expires_at: inMs(1_000) }, /^send expires_at or duration, not both/],
  [{ expires_at: 'tomorrow' }, /^expires_at /],
  [{ expires_at: '2030-01-01' }, /^expires_at /],
  [{ expires_at: '2030-13-01T00:00:00Z' }, /^expires_at "2030-13-01T00:00:00Z" is not a valid time/],
  [{ rpm_limit: 0 }, /^rpm_limit must be >= 1/],
  [{ rpm_limit: 1.5 }, /^rpm_limit must be integer/],
  [{ tpm_limit: 1e13 }, /^tpm_limit /],
  [{ max_parallel_requests: 2 ** 31 }, /^max_parallel_requests /],
  [{ metadata: [] }, /^metadata must be object/],
  [{ metadata: { text: 'x'.repeat(20_000) } }, /^metadata /],
] as const) {
  test(`an invalid field is 400 and named: ${JSON.stringify(body).slice(0, 60)}`, async () => {
    const answer = await call('POST /api/keys', { body })
    assert.equal(answer.status, 400, answer.text)
    assert.match(messageOf(answer), field)
  })
}

test('a revoked key is rejected; its record stays, and DELETE can be repeated', async () => {
  const { id, key } = await made({ role: 'admin', label: 'gone' })
  assert.equal(await opens(key), true)
  for (let at = 0; at < 2; at++) assert.equal((await call(`DELETE /api/keys/${id}`)).status, 204)
  assert.equal(await opens(key), false)
  const record = await read(id)
  assert.equal(record.label, 'gone')
  assert.ok(Math.abs(Date.parse(record.revoked_at ?? '') - Date.now()) < 60_000)
  for (const line of [`PATCH /api/keys/${id}`, `POST /api/keys/${id}/rotate`]) {
    const answer = await call(line, { body: {} })
    assert.equal(answer.status, 409, line)
    assert.match(messageOf(answer), /was revoked/)
  }
})

test('an unknown id is 404 with the id, on every route', async () => {
  for (const line of [
    'GET /api/keys/key_x',
    'PATCH /api/keys/key_x',
    'POST /api/keys/key_x/rotate',
    'DELETE /api/keys/key_x',
  ]) {
    const answer = await call(line, line.startsWith('P') ? { body: {} } : {})
    assert.equal(answer.status, 404, line)
    assert.equal(messageOf(answer), 'key key_x not found')
  }
})

test('B6: an expired key is rejected, and accepted again once its expiry time is extended', async () => {
  const { id, key } = await made({ role: 'admin', expires_at: inMs(300) })
  await eventually(async () => !(await opens(key)))
  await call(`PATCH /api/keys/${id}`, { body: { expires_at: null } })
  assert.equal(await opens(key), true)
})

test('rotate returns a new key under the same id and ends the old one at once', async () => {
  const before = await made({ role: 'admin', label: 'turning', max_budget: 3 })
  assert.equal(await opens(before.key), true)
  const answer = await call(`POST /api/keys/${before.id}/rotate`)
  assert.equal(answer.status, 200)
  const after = answer.json<ShownApiKey>()
  assert.notEqual(after.key, before.key)
  assert.deepEqual([after.id, after.label, after.max_budget], [before.id, 'turning', 3])
  assert.deepEqual([after.prefix, after.last4], [after.key.slice(0, 7), after.key.slice(-4)])
  assert.deepEqual([await opens(before.key), await opens(after.key)], [false, true])
})

test('rotate with a grace period: both keys work until it ends, even across further rotations', async () => {
  const first = await made({ role: 'admin' })
  const rotate = async (grace: string) =>
    (await call(`POST /api/keys/${first.id}/rotate`, { body: { grace } })).json<ShownApiKey>()
  const second = await rotate('1s')
  assert.deepEqual([await opens(first.key), await opens(second.key)], [true, true])
  const third = await rotate('1h')
  assert.deepEqual([await opens(first.key), await opens(second.key), await opens(third.key)], [true, true, true])
  const { rows } = await pool.query<{ rest: number | null }>(
    `select round(extract(epoch from valid_until - clock_timestamp()))::integer as rest from api_key_hashes
     where key_id = $1 order by valid_until nulls last`,
    [first.id],
  )
  assert.ok((rows[0]?.rest ?? 99) <= 1, 'a later grace does not lengthen an earlier one')
  assert.ok(Math.abs((rows[1]?.rest ?? 0) - 3_600) < 60)
  assert.equal(rows[2]?.rest, null)
  const fourth = await rotate('0s')
  assert.deepEqual([await opens(first.key), await opens(second.key), await opens(third.key)], [false, false, false])
  assert.equal(await opens(fourth.key), true)
  assert.equal((await call(`POST /api/keys/${first.id}/rotate`, { body: { grace: 'long' } })).status, 400)
})

test('Idempotency-Key: a retry of create and rotate returns the same key', async () => {
  const headers = { 'idempotency-key': 'once' }
  const first = await made({ owner_id: 'twice' }, { headers })
  assert.deepEqual(await made({ owner_id: 'twice' }, { headers }), first)
  const { keys: all } = (await call('GET /api/keys?owner_id=twice')).json<{ keys: ApiKey[] }>()
  assert.equal(all.length, 1)
  assert.equal((await call('POST /api/keys', { headers, body: { owner_id: 'other' } })).status, 422)
  const rotate = () => call(`POST /api/keys/${first.id}/rotate`, { headers })
  const turned = (await rotate()).json<ShownApiKey>()
  assert.deepEqual((await rotate()).json(), turned)
  assert.notEqual(turned.key, first.key)
})

test('S17: no table contains a plaintext key, including answers stored for retries', async () => {
  const { key } = await made({ label: 'canary' }, { headers: { 'idempotency-key': 'canary' } })
  const { rows: tables } = await pool.query<{ name: string }>(
    `select tablename as name from pg_tables where schemaname = 'public'`,
  )
  assert.ok(tables.some(({ name }) => name === 'idempotency_keys'))
  const shapes = [key, key.slice(3), Buffer.from(key).toString('base64').slice(0, 40), Buffer.from(key).toString('hex')]
  for (const { name } of tables) {
    const { rows } = await pool.query<{ row: string }>(`select t::text as row from ${name} t`)
    for (const { row } of rows) for (const shape of shapes) assert.ok(!row.includes(shape), `${name} holds a key`)
  }
})

test('S55: each change is one entry of the audit log, with the fields before and after and without the key', async () => {
  const { id, key } = await made({ label: 'watched', owner_id: 'ada', max_budget: 1 })
  await call(`PATCH /api/keys/${id}`, { body: { label: 'seen', max_budget: 2 } })
  await call(`POST /api/keys/${id}/rotate`)
  for (let at = 0; at < 2; at++) await call(`DELETE /api/keys/${id}`)
  assert.equal((await call(`PATCH /api/keys/${id}`, { body: { label: 'refused' } })).status, 409)
  const { rows } = await pool.query(
    'select action, principal, owner_id, before, after from audit_log where object_id = $1 order by id',
    [id],
  )
  assert.deepEqual(
    rows.map(({ action, principal, owner_id }) => [action, principal, owner_id]),
    ['create', 'update', 'rotate', 'delete'].map(verb => [`key.${verb}`, 'master', 'ada']),
  )
  const [create, update, rotate, remove] = rows
  assert.equal(create.before, null)
  assert.deepEqual([create.after.label, create.after.max_budget], ['watched', 1])
  assert.deepEqual([update.before.label, update.before.max_budget], ['watched', 1])
  assert.deepEqual([update.after.label, update.after.max_budget], ['seen', 2])
  assert.notEqual(rotate.before.last4 + rotate.before.prefix, rotate.after.last4 + rotate.after.prefix)
  assert.deepEqual([remove.before.revoked_at, typeof remove.after.revoked_at], [null, 'string'])
  assert.ok(!JSON.stringify(rows).includes(key.slice(8, -4)))
})

test('while the database is unreachable an uncached key is 503 with retry-after, not 401', async () => {
  const away = createPool({ url: 'postgres://nobody@127.0.0.1:1/none', onLost: () => undefined })
  const lost = startKeysApp(away)
  const { key } = await made({ role: 'admin' })
  const get = (sent: { as?: string }) => lost.call('GET /api/keys', sent)
  const answer = await get({ as: key })
  assert.deepEqual([answer.status, answer.headers['retry-after']], [503, '1'])
  assert.equal((await get({ as: 'sk-malformed' })).status, 401)
  assert.equal((await get({})).status, 503, 'the master key is let in; the list is not there')
  await away.end()
})
