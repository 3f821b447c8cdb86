import assert from 'node:assert/strict'
import { beforeEach, test } from 'node:test'
import { canary, runtimeApps } from '../../../../test/support/sessions/runtimes-app.ts'
import type { AgentRuntime, RuntimeHarness } from '../../../contract/runtimes.ts'
import { type Caller, masterCaller } from '../../http/caller.ts'
import { pause } from '../../platform/timers.ts'
import { RuntimeFailure } from '../runtime.ts'

const { start, lastAudit, pool } = await runtimeApps()
beforeEach(async () => {
  for (const table of ['runtime_credentials', 'runtime_harnesses', 'runtime_health'])
    await pool.query(`delete from ${table}`)
})

type App = ReturnType<typeof start>
const runtimesOf = async ({ call }: App) => (await call('GET /api/agent-runtimes')).body as { runtimes: AgentRuntime[] }
const harnessesOf = async ({ call }: App) =>
  ((await call('GET /api/runtime-harnesses')).body as { harnesses: RuntimeHarness[] }).harnesses
const runtimeOf = async (app: App, id: string) => (await runtimesOf(app)).runtimes.find(runtime => runtime.id === id)
const harnessOf = async (app: App, alias: string) => (await harnessesOf(app)).find(each => each.alias === alias)
const messageOf = ({ body }: { body: { error: { message: string } } }) => body.error.message

const opencode = { alias: 'oc', api_spec: 'opencode', api_base: 'https://oc.example/' }
const cursorPath = '/api/agent-runtimes/cursor/credentials'

test('D8: the address of the runtime builtin is the public address of the service', async () => {
  const app = start()
  const own = await runtimeOf(app, 'builtin')
  const harness = await harnessOf(app, 'builtin')
  assert.deepEqual(
    [own?.api_base, own?.default_api_base, harness?.api_base],
    Array(3).fill('https://switchyard.example'),
  )
})

test('GET /api/agent-runtimes lists the three built-in runtimes with all fields before anything is connected', async () => {
  const { runtimes } = await runtimesOf(start())
  assert.deepEqual(
    runtimes.map(({ id, connected }) => [id, connected]),
    [
      ['builtin', true],
      ['cursor', false],
      ['claude_managed_agents', false],
    ],
  )
  const [own, cursor, managed] = runtimes
  assert.ok(own?.tools.some(({ id }) => id === 'bash'))
  assert.deepEqual(Object.keys(own?.tools[0] ?? {}), ['id', 'name', 'description', 'enabled_by_default'])
  assert.deepEqual(
    { ...cursor, capabilities: undefined },
    {
      id: 'cursor',
      name: 'Cursor',
      default_api_base: 'https://api.cursor.com',
      credential_provider_id: 'cursor',
      credential_provider_name: 'Cursor',
      tools: [],
      connected: false,
      api_base: 'https://api.cursor.com',
      masked_api_key: null,
      capabilities: undefined,
      last_checked_at: null,
      last_error: null,
    },
  )
  assert.equal(cursor?.capabilities['streaming'], true)
  const { default_api_base, credential_provider_id, credential_provider_name } = managed ?? assert.fail()
  assert.deepEqual(
    [default_api_base, credential_provider_id, credential_provider_name],
    ['https://api.anthropic.com', 'anthropic', 'Anthropic'],
  )
})

test('PUT credentials returns 200 with the list, which shows only the last four characters of the key', async () => {
  const app = start()
  const { status, body } = await app.call(`PUT ${cursorPath}`, { api_key: canary })
  assert.equal(status, 200)
  assert.deepEqual(body, await runtimesOf(app))
  const cursor = await runtimeOf(app, 'cursor')
  assert.deepEqual([cursor?.connected, cursor?.masked_api_key], [true, '…wxyz'])
  const { rows } = await pool.query("select row_to_json(t)::text as row from runtime_credentials t where id = 'cursor'")
  assert.ok(!rows[0].row.includes(Buffer.from(canary).toString('hex')))
})

test('D9: PUT credentials replaces the key, and the address only if one is given', async () => {
  const app = start()
  await app.call(`PUT ${cursorPath}`, { api_key: canary, api_base: 'https://proxy.example/cursor/' })
  assert.equal((await runtimeOf(app, 'cursor'))?.api_base, 'https://proxy.example/cursor')
  await app.call(`PUT ${cursorPath}`, { api_key: `${canary}2` })
  assert.equal((await runtimeOf(app, 'cursor'))?.api_base, 'https://proxy.example/cursor')
})

const refusals = [
  ['a blank key', 'cursor', { api_key: '  ' }, 400, /api_key must not be blank/],
  ['no key', 'cursor', {}, 400, /api_key is required/],
  ['a key that is not a valid header value', 'cursor', { api_key: 'a\nb' }, 400, /api_key contains a character/],
  ['a private address', 'cursor', { api_key: canary, api_base: 'https://10.0.0.1' }, 400, /api_base .*outbound\.allow/],
  ['an address without https', 'cursor', { api_key: canary, api_base: 'http://a.example' }, 400, /api_base .*https:/],
  [
    'an address with a user',
    'cursor',
    { api_key: canary, api_base: 'https://u@a.example' },
    400,
    /api_base .*user name/,
  ],
  ['no address at all', 'cursor', { api_key: canary, api_base: 'cursor' }, 400, /api_base .*not a URL/],
  ['an address with a query', 'cursor', { api_key: canary, api_base: 'https://a.example?b' }, 400, /api_base .*query/],
  ['the id of the own runtime', 'builtin', { api_key: canary }, 400, /takes no credential/],
  ['an unknown id', 'nothing', { api_key: canary }, 404, /^runtime nothing not found$/],
  ['the alias of a harness', 'oc', { api_key: canary }, 404, /^runtime oc not found$/],
] as const
for (const [what, id, body, status, message] of refusals) {
  test(`PUT credentials with ${what} is ${status} and stores nothing`, async () => {
    const app = start()
    await app.call('POST /api/runtime-harnesses', opencode)
    const answer = await app.call(`PUT /api/agent-runtimes/${id}/credentials`, body)
    assert.equal(answer.status, status)
    assert.match(messageOf(answer), message)
    assert.equal((await pool.query('select from runtime_credentials')).rowCount, 0)
  })
}

test('DELETE credentials returns ok and disconnects; without a credential, or for an unknown id, it is 404', async () => {
  const app = start()
  await app.call(`PUT ${cursorPath}`, { api_key: canary, api_base: 'https://proxy.example' })
  assert.deepEqual(await app.call(`DELETE ${cursorPath}`), { status: 200, body: { ok: true } })
  const { connected, api_base, masked_api_key } = (await runtimeOf(app, 'cursor')) ?? assert.fail()
  assert.deepEqual([connected, api_base, masked_api_key], [false, 'https://api.cursor.com', null])
  assert.equal((await app.call(`DELETE ${cursorPath}`)).status, 404)
  assert.equal((await app.call('DELETE /api/agent-runtimes/nothing/credentials')).status, 404)
  assert.equal((await app.call('DELETE /api/agent-runtimes/builtin/credentials')).status, 400)
})

test('POST /api/runtime-harnesses returns 200 with all harnesses, built-in ones first', async () => {
  const app = start()
  const { status, body } = await app.call('POST /api/runtime-harnesses', { ...opencode, api_key: canary })
  assert.equal(status, 200)
  const { harnesses } = body as { harnesses: RuntimeHarness[] }
  assert.deepEqual(harnesses, await harnessesOf(app))
  assert.deepEqual(
    harnesses.map(({ alias, api_spec, is_default, locked }) => [alias, api_spec, is_default, locked]),
    [
      ['builtin', 'builtin', true, true],
      ['cursor', 'cursor', true, true],
      ['claude_managed_agents', 'claude_managed_agents', true, true],
      ['oc', 'opencode', false, false],
    ],
  )
  assert.deepEqual(
    { ...harnesses.at(-1), capabilities: undefined },
    {
      id: 'oc',
      alias: 'oc',
      api_spec: 'opencode',
      display_name: 'oc',
      api_base: 'https://oc.example',
      is_default: false,
      locked: false,
      connected: true,
      masked_api_key: '…wxyz',
      tools: [],
      capabilities: undefined,
      last_checked_at: null,
      last_error: null,
    },
  )
})

const badHarnesses = [
  ['an alias with other characters', { alias: 'a b' }, 400, /alias/],
  ['an alias of 65 characters', { alias: 'a'.repeat(65) }, 400, /alias/],
  ['the id of a built-in runtime', { alias: 'cursor' }, 400, /cursor is built in/],
  ['an unknown api_spec', { api_spec: 'smtp' }, 400, /api_spec/],
  ['the api_spec acp', { api_spec: 'acp' }, 400, /api_spec acp .*configuration file/],
  ['a blank address', { api_base: ' ' }, 400, /api_base must not be blank/],
  ['a loopback address', { api_base: 'https://127.0.0.1:4096' }, 400, /api_base .*"127\.0\.0\.1:4096"/],
  ['a blank key', { api_key: '' }, 400, /api_key/],
  ['a taken alias', { alias: 'taken' }, 409, /runtime taken exists already/],
] as const
for (const [what, changes, status, message] of badHarnesses) {
  test(`POST /api/runtime-harnesses with ${what} is ${status}`, async () => {
    const app = start()
    await app.call('POST /api/runtime-harnesses', { ...opencode, alias: 'taken' })
    const answer = await app.call('POST /api/runtime-harnesses', { ...opencode, ...changes })
    assert.equal(answer.status, status)
    assert.match(messageOf(answer), message)
    assert.equal((await pool.query('select from runtime_harnesses')).rowCount, 1)
  })
}

test('POST /api/runtime-harnesses: of concurrent requests with the same alias one succeeds', async () => {
  const app = start()
  const answers = await Promise.all([1, 2, 3].map(() => app.call('POST /api/runtime-harnesses', opencode)))
  assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 409, 409])
})

test('PUT /api/runtime-harnesses/{alias} keeps absent fields, and the key unless the address changes', async () => {
  const app = start()
  await app.call('POST /api/runtime-harnesses', { ...opencode, api_key: canary, display_name: 'Ours' })
  await app.call('PUT /api/runtime-harnesses/oc', { display_name: 'Renamed', api_base: 'https://oc.example' })
  const { display_name, api_spec, api_base, masked_api_key, connected } = (await harnessOf(app, 'oc')) ?? assert.fail()
  assert.deepEqual(
    [display_name, api_spec, api_base, masked_api_key, connected],
    ['Renamed', 'opencode', 'https://oc.example', '…wxyz', true],
  )
  assert.equal((await app.registry.find('oc'))?.id, 'oc')
  assert.equal(app.opencode.connected[0]?.apiKey, canary)
})

test('S25: a new address removes the stored key unless a new one is given', async () => {
  const app = start()
  await app.call('POST /api/runtime-harnesses', { ...opencode, api_key: canary })
  await app.call('PUT /api/runtime-harnesses/oc', { api_base: 'https://other.example' })
  assert.equal((await harnessOf(app, 'oc'))?.masked_api_key, null)
  await app.registry.find('oc')
  assert.deepEqual(app.opencode.connected, [{ id: 'oc', apiBase: 'https://other.example', apiKey: undefined }])
  await app.call('PUT /api/runtime-harnesses/oc', { api_base: 'https://third.example', api_key: `${canary}-1234` })
  assert.equal((await harnessOf(app, 'oc'))?.masked_api_key, '…1234')
  await app.call('PUT /api/runtime-harnesses/oc', { api_key: null })
  assert.equal((await harnessOf(app, 'oc'))?.masked_api_key, null)
})

test('S25: a stored key cannot be decrypted after its address is changed in the database', async () => {
  const app = start()
  await app.call('POST /api/runtime-harnesses', { ...opencode, api_key: canary })
  await app.call(`PUT ${cursorPath}`, { api_key: canary })
  await pool.query("update runtime_harnesses set api_base = 'https://evil.example'")
  await pool.query("update runtime_credentials set api_base = 'https://evil.example'")
  for (const [id, shown] of [
    ['oc', await harnessOf(app, 'oc')],
    ['cursor', await runtimeOf(app, 'cursor')],
  ] as const) {
    assert.equal(shown?.connected, false)
    assert.match(shown?.last_error ?? '', /was damaged or modified; store it again/)
    assert.match((await app.registry.unavailableReason(id)) ?? '', /was damaged/)
  }
  assert.deepEqual(app.opencode.connected, [])
})

test('PUT and DELETE of an unknown harness are 404, of a built-in one 400', async () => {
  const app = start()
  for (const [alias, status] of [
    ['nothing', 404],
    ['cursor', 400],
    ['builtin', 400],
  ] as const) {
    assert.equal((await app.call(`PUT /api/runtime-harnesses/${alias}`, { display_name: 'x' })).status, status)
    assert.equal((await app.call(`DELETE /api/runtime-harnesses/${alias}`)).status, status)
  }
  await app.call('POST /api/runtime-harnesses', opencode)
  const acp = await app.call('PUT /api/runtime-harnesses/oc', { api_spec: 'acp' })
  assert.deepEqual([acp.status, (await harnessOf(app, 'oc'))?.api_spec], [400, 'opencode'])
})

test('DELETE /api/runtime-harnesses/{alias} returns ok, and the alias can be used again', async () => {
  const app = start()
  await app.call('POST /api/runtime-harnesses', opencode)
  assert.deepEqual(await app.call('DELETE /api/runtime-harnesses/oc'), { status: 200, body: { ok: true } })
  assert.equal(await harnessOf(app, 'oc'), undefined)
  assert.equal((await app.call('POST /api/runtime-harnesses', opencode)).status, 200)
})

test('harnesses of the configuration file are listed and locked, and override a registered alias', async () => {
  const app = start()
  await app.call('POST /api/runtime-harnesses', opencode)
  const inFile = {
    alias: 'oc',
    apiSpec: 'opencode',
    displayName: 'Of the file',
    apiBase: 'https://file.example',
  } as const
  app.now.configured = [{ ...inFile, apiKey: canary, command: undefined, env: {} }]
  const { display_name, api_base, masked_api_key, locked } = (await harnessOf(app, 'oc')) ?? assert.fail()
  assert.deepEqual(
    [display_name, api_base, masked_api_key, locked],
    ['Of the file', 'https://file.example', '…wxyz', true],
  )
  for (const line of [
    'PUT /api/runtime-harnesses/oc',
    'DELETE /api/runtime-harnesses/oc',
    'POST /api/runtime-harnesses',
  ]) {
    const { alias: _, ...changes } = opencode
    const bodies = { DELETE: undefined, PUT: changes, POST: opencode }
    const answer = await app.call(line, bodies[line.split(' ')[0] as keyof typeof bodies])
    assert.equal(answer.status, 409)
    assert.match(messageOf(answer), /runtime oc comes from the configuration file; change it there/)
  }
  app.now.configured = []
  assert.equal((await harnessOf(app, 'oc'))?.display_name, 'oc')
})

test('POST …/test returns the error of the runtime, and the records show it until key or address change', async () => {
  const app = start()
  const { call, opencode: kind } = app
  await call('POST /api/runtime-harnesses', { ...opencode, api_key: canary })
  assert.deepEqual(await call('POST /api/runtime-harnesses/oc/test'), {
    status: 200,
    body: { ok: true, latency_ms: 0 },
  })
  assert.deepEqual(kind.requests, [{ id: 'oc', apiBase: 'https://oc.example', apiKey: canary }])
  const well = await harnessOf(app, 'oc')
  assert.ok(Date.parse(well?.last_checked_at ?? '') > 0)
  assert.equal(well?.last_error, null)

  kind.answers.check = () =>
    Promise.reject(new RuntimeFailure('unknown_error', 'the runtime rejected the request (418)'))
  const bad = await call('POST /api/agent-runtimes/oc/test')
  assert.deepEqual(bad.body, { ok: false, latency_ms: 0, error: 'the runtime rejected the request (418)' })
  assert.equal((await harnessOf(app, 'oc'))?.last_error, 'the runtime rejected the request (418)')
  await call('PUT /api/runtime-harnesses/oc', { api_key: `${canary}2` })
  const changed = await harnessOf(app, 'oc')
  assert.deepEqual([changed?.last_checked_at, changed?.last_error], [null, null])
})

test('POST …/test sends no request for a runtime that is not connected, passes for builtin, and is 404 for unknown ones', async () => {
  const app = start()
  const { body } = await app.call('POST /api/agent-runtimes/cursor/test')
  const error = 'runtime cursor is not connected; store its credential with PUT /api/agent-runtimes/cursor/credentials'
  assert.deepEqual(body, { ok: false, latency_ms: 0, error })
  assert.deepEqual(app.cursor.requests, [])
  assert.deepEqual((await app.call('POST /api/agent-runtimes/builtin/test')).body, { ok: true, latency_ms: 0 })
  for (const path of ['agent-runtimes', 'runtime-harnesses']) {
    const answer = await app.call(`POST /api/${path}/nothing/test`)
    assert.deepEqual([answer.status, messageOf(answer)], [404, 'runtime nothing not found'])
  }
})

test('POST …/test times out for a runtime that does not answer', async () => {
  const app = start({ timeoutMs: 20 })
  app.opencode.answers.check = signal =>
    new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
  await app.call('POST /api/runtime-harnesses', opencode)
  const { body } = await app.call('POST /api/runtime-harnesses/oc/test')
  assert.deepEqual([body.ok, body.error], [false, 'the runtime did not answer within 0.02 s'])
})

test('POST …/test waits longer for a program than for a server, then reports what to check', async () => {
  const named = { alias: 'local', apiSpec: 'opencode', displayName: 'Local', apiBase: '', apiKey: undefined } as const
  const configured = [{ ...named, command: ['/opt/tools/agent', '--acp'], env: { TOKEN: canary } }]
  const patient = start({ configured, timeoutMs: 1 })
  patient.opencode.answers.check = () => pause(20)
  assert.equal((await patient.call('POST /api/runtime-harnesses/local/test')).body.ok, true)
  const hasty = start({ configured, startMs: 40 })
  hasty.opencode.answers.check = signal =>
    new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
  const { ok, error } = (await hasty.call('POST /api/runtime-harnesses/local/test')).body
  assert.equal(ok, false)
  assert.match(error, /^program agent did not answer within 0\.04 s of its start; run its command manually/)
})

test('GET …/models lists the models of a runtime, requests them once a minute, and returns why they are unavailable', async () => {
  const app = start()
  const { call, opencode: kind, clock } = app
  await call('POST /api/runtime-harnesses', opencode)
  const models = [{ id: 'm1', display_name: 'Model 1' }]
  await Promise.all([1, 2, 3].map(() => call('GET /api/agent-runtimes/oc/models')))
  assert.deepEqual(await call('GET /api/agent-runtimes/oc/models'), { status: 200, body: { models } })
  assert.equal(kind.requests.length, 1)
  clock.nowMs = 60_000
  kind.answers.models = () => Promise.reject(new RuntimeFailure('unknown_error', 'the runtime failed (500)'))
  const failed = await call('GET /api/agent-runtimes/oc/models')
  assert.deepEqual([failed.status, messageOf(failed)], [502, 'runtime oc: the runtime failed (500)'])
  assert.equal((await call('GET /api/agent-runtimes/cursor/models')).status, 409)
  assert.equal((await call('GET /api/agent-runtimes/nothing/models')).status, 404)
  const own = { models: [{ id: 'own', display_name: 'Own' }] }
  assert.deepEqual((await call('GET /api/agent-runtimes/builtin/models')).body, own)
})

test('an admin key that is restricted to an owner or to models cannot change runtimes', async () => {
  const master = start()
  await master.call('POST /api/runtime-harnesses', opencode)
  const ofOwner: Caller = { ...masterCaller, ownerScope: 'ana' }
  const ofModels: Caller = {
    ...masterCaller,
    key: { id: 'key_1', models: ['demo'], isLimited: false, isNarrow: true, expires: false },
  }
  for (const caller of [ofOwner, ofModels]) {
    const { call } = start({ caller })
    for (const [line, body] of [
      ['POST /api/runtime-harnesses', { ...opencode, alias: 'mine' }],
      ['PUT /api/runtime-harnesses/oc', { display_name: 'Mine' }],
      ['DELETE /api/runtime-harnesses/oc', undefined],
      [`PUT ${cursorPath}`, { api_key: canary }],
      [`DELETE ${cursorPath}`, undefined],
    ] as const)
      assert.equal((await call(line, body)).status, 403, line)
  }
})

test('S55: the audit log records changes without the key', async () => {
  const { call } = start()
  await call('POST /api/runtime-harnesses', { ...opencode, api_key: canary })
  const harness = { api_spec: 'opencode', display_name: 'oc', api_base: 'https://oc.example', has_key: true }
  const created = { action: 'runtime_harness.create', object_id: 'oc', before: null, after: harness }
  assert.deepEqual(await lastAudit(), created)
  await call('PUT /api/runtime-harnesses/oc', { api_base: 'https://b.example' })
  const after = { ...harness, api_base: 'https://b.example', has_key: false }
  assert.deepEqual(await lastAudit(), { ...created, action: 'runtime_harness.update', before: harness, after })
  await call(`PUT ${cursorPath}`, { api_key: canary })
  const connected = { api_base: 'https://api.cursor.com' }
  const entry = { action: 'runtime.connect', object_id: 'cursor', before: null, after: connected }
  assert.deepEqual(await lastAudit(), entry)
  await call(`DELETE ${cursorPath}`)
  assert.deepEqual(await lastAudit(), { ...entry, action: 'runtime.disconnect', before: connected, after: null })
  const { rows } = await pool.query('select string_agg(row_to_json(t)::text, chr(10)) as log from audit_log t')
  assert.doesNotMatch(rows[0].log, /canary/)
})
