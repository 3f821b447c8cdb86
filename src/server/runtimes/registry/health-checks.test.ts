import assert from 'node:assert/strict'
import { beforeEach, test } from 'node:test'
import { startManagedAgentsFake } from '../../../../test/support/managed-agents/managed-agents-fake.ts'
import { eventually } from '../../../../test/support/service/eventually.ts'
import { canary, runtimeApps } from '../../../../test/support/sessions/runtimes-app.ts'
import type { RuntimeHarness } from '../../../contract/runtimes.ts'
import { createOutbound } from '../../platform/outbound.ts'
import { managedAgentsKind } from '../managed-agents/kind.ts'
import { RuntimeFailure } from '../runtime.ts'

const { start, pool } = await runtimeApps()
beforeEach(async () => {
  for (const table of ['runtime_credentials', 'runtime_harnesses', 'runtime_health'])
    await pool.query(`delete from ${table}`)
})

type App = ReturnType<typeof start>
const opencode = { alias: 'oc', api_spec: 'opencode', api_base: 'https://oc.example', api_key: canary }
const harnessOf = async ({ call }: App, alias = 'oc') =>
  ((await call('GET /api/runtime-harnesses')).body as { harnesses: RuntimeHarness[] }).harnesses.find(
    each => each.alias === alias,
  ) ?? assert.fail()

/** Makes every check due that would be due within a minute. */
const minuteLater = () => pool.query("update runtime_health set look_after = look_after - interval '1 minute'")

test('one replica checks a registered runtime once a minute, and its record shows the result', async () => {
  const [here, there] = [start(), start()]
  await here.call('POST /api/runtime-harnesses', opencode)
  await Promise.all([here.healthChecks.checkDue(), there.healthChecks.checkDue(), here.healthChecks.checkDue()])
  assert.equal(here.opencode.requests.length + there.opencode.requests.length, 1)
  const { last_checked_at, last_error } = await harnessOf(there)
  assert.ok(Date.parse(last_checked_at ?? '') > 0)
  assert.equal(last_error, null)
  await minuteLater()
  await there.healthChecks.checkDue()
  assert.equal(here.opencode.requests.length + there.opencode.requests.length, 2)
  const { rows } = await pool.query(
    "select look_after <= clock_timestamp() + interval '1 minute' as soon from runtime_health",
  )
  assert.deepEqual(rows, [{ soon: true }])
})

test('S40: a server that fails and recovers is logged once each time, without its key', async t => {
  const fake = await startManagedAgentsFake({ apiKey: canary })
  t.after(() => fake.stop())
  const outbound = createOutbound({ allow: [fake.host] })
  const app = start({ allow: [fake.host], kind: managedAgentsKind({ outbound, memories: async () => '' }) })
  const body = { alias: 'lab', api_spec: 'claude_managed_agents', api_base: fake.url, api_key: canary }
  await app.call('POST /api/runtime-harnesses', body)
  const errors: (string | null)[] = []
  const checkAgain = async () => {
    await minuteLater()
    await app.healthChecks.checkDue()
    errors.push((await harnessOf(app, 'lab')).last_error)
  }
  await checkAgain()
  fake.state.fault = () => 'lost before'
  await checkAgain()
  await checkAgain()
  fake.state.fault = () => undefined
  await checkAgain()
  await checkAgain()
  assert.equal(fake.requests.length, 5)
  assert.deepEqual([errors[0], errors[3], errors[4]], [null, null, null])
  assert.match(errors[1] ?? '', /^the connection to the runtime failed/)
  assert.equal(errors[2], errors[1])
  assert.deepEqual(app.logged, [
    { level: 'warn', message: 'health check of a runtime failed', runtime: 'lab', error: errors[1] },
    { level: 'info', message: 'health check of a runtime succeeds again', runtime: 'lab' },
  ])

  // This server repeats a key that it rejects.
  await app.call('PUT /api/runtime-harnesses/lab', { api_key: `${canary}-2` })
  await checkAgain()
  assert.match(errors.at(-1) ?? '', /rejected the credential \(401\): invalid x-api-key \[secret\]/)
  assert.equal(app.logged.length, 3)
  assert.doesNotMatch(JSON.stringify(app.logged), /canary/)
})

test('a health check never starts a local program, and skips runtimes that are not connected', async () => {
  const named = { alias: 'local', apiSpec: 'opencode', displayName: 'Local', apiBase: '', apiKey: undefined } as const
  const app = start({ configured: [{ ...named, command: ['/usr/bin/opencode', 'serve'], env: {} }] })
  await app.healthChecks.checkDue()
  for (const { requests: asked, connected } of [app.opencode, app.cursor, app.managed])
    assert.deepEqual([asked, connected], [[], []])
  assert.equal((await harnessOf(app, 'local')).last_checked_at, null)
  assert.equal((await pool.query('select from runtime_health')).rowCount, 0)
})

test('a runtime that does not answer does not delay the checks of others, and its record stays empty until then', async () => {
  const app = start()
  const { promise: hangs, reject } = Promise.withResolvers<void>()
  app.opencode.answers.check = () => hangs
  await app.call('POST /api/runtime-harnesses', opencode)
  await app.call('PUT /api/agent-runtimes/cursor/credentials', { api_key: canary })
  const checking = app.healthChecks.checkDue()
  await eventually(async () => (await harnessOf(app, 'cursor')).last_checked_at !== null)
  const { last_checked_at, last_error } = await harnessOf(app)
  assert.deepEqual([last_checked_at, last_error], [null, null])
  reject(new RuntimeFailure('unknown_error', 'the runtime failed (500)'))
  await checking
  assert.equal((await harnessOf(app)).last_error, 'the runtime failed (500)')
})

test('a health check of a runtime that is removed meanwhile stores nothing', async () => {
  const app = start()
  const { promise, resolve } = Promise.withResolvers<void>()
  app.opencode.answers.check = () => promise
  await app.call('POST /api/runtime-harnesses', opencode)
  const checking = app.healthChecks.checkDue()
  await eventually(() => app.opencode.requests.length === 1)
  await app.call('DELETE /api/runtime-harnesses/oc')
  resolve()
  await checking
  assert.equal((await pool.query('select from runtime_health')).rowCount, 0)
})

test('a health check that is interrupted by shutdown records no error', async () => {
  const app = start()
  app.opencode.answers.check = signal =>
    new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
  await app.call('POST /api/runtime-harnesses', opencode)
  const checking = app.healthChecks.checkDue()
  await eventually(() => app.opencode.requests.length === 1)
  await app.healthChecks.stop()
  await checking
  assert.deepEqual(app.logged, [])
  assert.deepEqual([(await harnessOf(app)).last_checked_at, (await harnessOf(app)).last_error], [null, null])
})
