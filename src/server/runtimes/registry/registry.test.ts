import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { beforeEach, test } from 'node:test'
import { promptOf, runRig, sessionWith } from '../../../../test/support/sessions/run-rig.ts'
import { canary, runtimeApps } from '../../../../test/support/sessions/runtimes-app.ts'
import { createKeyring } from '../../platform/encryption.ts'
import type { RunContext } from '../runtime.ts'

const { start, pool } = await runtimeApps()
beforeEach(async () => {
  for (const table of ['runtime_credentials', 'runtime_harnesses']) await pool.query(`delete from ${table}`)
})

const opencode = { alias: 'oc', api_spec: 'opencode', api_base: 'https://oc.example', api_key: canary }
const cursorPath = '/api/agent-runtimes/cursor/credentials'

test('an unknown name is rejected with a hint where to list the runtimes', async () => {
  const { registry } = start()
  assert.equal(await registry.find('nothing'), undefined)
  assert.equal(await registry.unavailableReason('nothing'), 'is unknown; GET /api/capabilities lists the runtimes')
})

test('the built-in runtime is always available', async () => {
  const { registry } = start()
  assert.equal((await registry.find('builtin'))?.id, 'builtin')
  assert.equal(await registry.unavailableReason('builtin'), undefined)
})

test('a runtime without a credential rejects sessions and fails runs with the next step', async () => {
  const { registry, cursor } = start()
  assert.match((await registry.unavailableReason('cursor')) ?? '', /^is not connected; store its credential with PUT /)
  const runtime = (await registry.find('cursor')) ?? assert.fail()
  const rig = runRig()
  await rig.run(runtime, promptOf('x'))
  assert.deepEqual(rig.types(), ['session.status_running', 'session.error'])
  assert.match(JSON.stringify(rig.log.at(-1)), /runtime cursor is not connected/)
  assert.deepEqual(cursor.connected, [])
})

test('a change takes effect with the next run on every replica', async () => {
  const [here, there] = [start(), start()]
  await here.call(`PUT ${cursorPath}`, { api_key: canary })
  for (const { registry } of [here, there]) assert.equal(await registry.unavailableReason('cursor'), undefined)
  await there.registry.find('cursor')
  await here.call(`PUT ${cursorPath}`, { api_key: `${canary}2`, api_base: 'https://proxy.example' })
  await there.registry.find('cursor')
  assert.deepEqual(there.cursor.connected, [
    { id: 'cursor', apiBase: 'https://api.cursor.com', apiKey: canary },
    { id: 'cursor', apiBase: 'https://proxy.example', apiKey: `${canary}2` },
  ])
  await here.call(`DELETE ${cursorPath}`)
  assert.match((await there.registry.unavailableReason('cursor')) ?? '', /not connected/)
})

test('runs share one runtime until its configuration changes', async () => {
  const { call, registry, opencode: kind } = start()
  await call('POST /api/runtime-harnesses', opencode)
  const found = await Promise.all([1, 2, 3].map(() => registry.find('oc')))
  assert.equal(new Set(found).size, 1)
  await call('PUT /api/runtime-harnesses/oc', { display_name: 'Only its name' })
  assert.equal(await registry.find('oc'), found[0])
  assert.equal(kind.connected.length, 1)
})

test('a runtime that was changed or removed is closed when its last run has ended, not before', async () => {
  const { call, registry, opencode: kind } = start()
  await call('POST /api/runtime-harnesses', opencode)
  const runtime = (await registry.find('oc')) ?? assert.fail()
  // The runtime of this test does not use its context.
  const run = runtime.run(sessionWith(), promptOf('x'), {} as RunContext)
  await run.next()
  await call('PUT /api/runtime-harnesses/oc', { api_key: `${canary}2` })
  await registry.find('oc')
  assert.deepEqual(kind.closed, [])
  await Array.fromAsync(run)
  assert.deepEqual(
    kind.closed.map(({ apiKey }) => apiKey),
    [canary],
  )
  await call('DELETE /api/runtime-harnesses/oc')
  assert.equal(await registry.find('oc'), undefined)
  assert.equal(kind.closed.length, 2)
})

test('closing the registry closes all cached runtimes', async () => {
  const { call, registry, opencode: kind } = start()
  await call('POST /api/runtime-harnesses', opencode)
  await registry.find('oc')
  await registry.close()
  assert.equal(kind.closed.length, 1)
})

test('S20: an address that is no longer allowed is not called', async () => {
  const base = 'http://127.0.0.1:4096'
  const app = start({ allow: ['127.0.0.1:4096'] })
  assert.equal((await app.call('POST /api/runtime-harnesses', { ...opencode, api_base: base })).status, 200)
  assert.equal(await app.registry.unavailableReason('oc'), undefined)
  app.now.allow = []
  assert.match(
    (await app.registry.unavailableReason('oc')) ?? '',
    /^cannot be called: 127\.0\.0\.1:4096 is not a public address/,
  )
  await app.registry.find('oc')
  assert.deepEqual(app.opencode.connected, [])
})

test('S30: program and variables of the configuration file reach the protocol that starts it', async () => {
  const command = ['/usr/bin/opencode', 'serve']
  const named = { alias: 'local', apiSpec: 'opencode', displayName: 'Local', apiBase: '', apiKey: undefined } as const
  const { registry, opencode: kind, call } = start({ configured: [{ ...named, command, env: { A: 'b' } }] })
  await registry.find('local')
  assert.deepEqual(kind.connected, [{ id: 'local', apiBase: '', apiKey: undefined, command, env: { A: 'b' } }])
  const body = { alias: 'x', api_spec: 'opencode', api_base: 'https://a.example' }
  const refused = await call('POST /api/runtime-harnesses', { ...body, command, env: { A: 'b' } })
  assert.equal(refused.status, 400)
  assert.equal((await call('POST /api/runtime-harnesses', body)).status, 200)
  await registry.find('x')
  assert.deepEqual(kind.connected[1], { id: 'x', apiBase: 'https://a.example', apiKey: undefined })
})

test('an unsupported protocol is rejected by name', async () => {
  const named = { alias: 'agent', apiSpec: 'acp', displayName: 'Agent', apiBase: '', apiKey: undefined } as const
  const { registry } = start({ configured: [{ ...named, command: ['/bin/agent'], env: {} }] })
  assert.equal(await registry.unavailableReason('agent'), 'cannot be used: this server does not support acp')
})

test('S13: a credential with an unconfigured encryption key is reported, and the others stay usable', async () => {
  await start().call(`PUT ${cursorPath}`, { api_key: canary })
  const { registry, call } = start({ keyring: createKeyring([randomBytes(32)]) })
  assert.match(
    (await registry.unavailableReason('cursor')) ?? '',
    /encrypted with encryption key \w+, which is not configured/,
  )
  assert.equal((await call('GET /api/agent-runtimes')).status, 200)
})

test('the list has built-in runtimes first, with connection state and capabilities', async () => {
  const { registry, call } = start()
  await call('POST /api/runtime-harnesses', { ...opencode, display_name: 'Ours' })
  const list = await registry.list()
  assert.deepEqual(
    list.map(({ id, name, connected, capabilities: { streaming } }) => [id, name, connected, streaming]),
    [
      ['builtin', 'Built-in', true, true],
      ['cursor', 'Cursor', false, true],
      ['claude_managed_agents', 'Claude Managed Agents', false, true],
      ['oc', 'Ours', true, true],
    ],
  )
})
