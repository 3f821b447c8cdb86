import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, test } from 'node:test'
import type { Agent } from '../../src/contract/agents.ts'
import { endsRun } from '../../src/contract/events.ts'
import type { RuntimeHarness } from '../../src/contract/runtimes.ts'
import type { Session } from '../../src/contract/sessions.ts'
import { startCursorFake } from '../support/cursor/cursor-fake.ts'
import { holderOf } from '../support/keys/virtual-keys.ts'
import { freshDatabase } from '../support/service/database.ts'
import { eventually } from '../support/service/eventually.ts'
import { send } from '../support/service/send.ts'
import { type Service, startService } from '../support/service/service.ts'
import { followEvents } from '../support/sessions/event-tail.ts'

const [first, second] = await Promise.all([
  startCursorFake({ key: 'first-canary-0123456789' }),
  startCursorFake({ key: 'second-canary-0123456789' }),
])
const { url: databaseUrl } = await freshDatabase()
const config = JSON.stringify({ outbound: { allow: [first.host, second.host] } })
const services = await Promise.all([
  startService({ databaseUrl, config, env: { SWITCHYARD_ROLE: 'api' } }),
  startService({ databaseUrl, config, env: { SWITCHYARD_ROLE: 'worker' } }),
])
after(() => Promise.all([...services.map(service => service.stop()), first.stop(), second.stop()]))
/** The first is asked and runs nothing, the second runs what it finds. */
const [here, there] = services as [Service, Service]

const credentials = '/api/agent-runtimes/cursor/credentials'
const connect = ({ url, key }: typeof first) =>
  send(here, `PUT ${credentials}`, { body: { api_key: key, api_base: url } })
const newSession = async (body: object) => (await send(here, 'POST /session', { body })).json<Session>().id

/** Runs a prompt and gives the event that ends it. */
async function prompt(session: string) {
  const tail = await followEvents(here, session, { query: 'from=tail' })
  const body = { model: { modelID: 'composer' }, parts: [{ type: 'text', text: 'Look around.' }] }
  assert.equal((await send(here, `POST /session/${session}/prompt_async`, { body })).status, 204)
  const event = await tail.event(endsRun)
  tail.close()
  return event
}

test('a runtime without a credential takes no session, and names what is to be done', async () => {
  const answer = await send(here, 'POST /session', { body: { runtime: 'cursor' } })
  assert.equal(answer.status, 400)
  assert.match(answer.text, /runtime \\"cursor\\" is not connected; store its credential with PUT /)
  assert.equal((await send(here, 'POST /session', { body: { runtime: 'nothing' } })).status, 400)
})

test('agents may name a runtime that is not connected yet, and none that is not known', async () => {
  const agent = { name: 'A', owner_id: 'team' }
  assert.equal((await send(here, 'POST /api/agents', { body: { ...agent, runtime: 'cursor' } })).status, 201)
  assert.equal((await send(here, 'POST /api/agents', { body: { ...agent, runtime: 'nothing' } })).status, 400)
})

test('once a credential is stored, the next session runs on it, on another server than the one that stored it', async () => {
  assert.equal((await connect(first)).status, 200)
  const tested = (await send(here, 'POST /api/agent-runtimes/cursor/test')).json()
  assert.deepEqual({ ...tested, latency_ms: 0 }, { ok: true, latency_ms: 0 })
  const session = await newSession({ runtime: 'cursor' })
  for (let turn = 0; turn < 2; turn++) assert.equal((await prompt(session)).type, 'session.status_idle')
  assert.equal(first.runs.length, 2)
  const record = (await send(here, `GET /session/${session}`)).json<Session>()
  assert.deepEqual([record.runtime, record.status], ['cursor', 'idle'])
  assert.match(record.provider_session_id ?? '', /^bc-/)
})

test('an agent and a registered harness lead to their runtime as well; the alias is its own agent', async () => {
  const harness = { alias: 'other', api_spec: 'cursor', api_base: second.url, api_key: second.key }
  assert.equal((await send(here, 'POST /api/runtime-harnesses', { body: harness })).status, 200)
  const body = { name: 'A', owner_id: 'team', runtime: 'other' }
  const { id: agent_id } = (await send(here, 'POST /api/agents', { body })).json<{ id: string }>()
  for (const wanted of [{ agent_id }, { agent: 'other' }, { runtime: 'other' }]) {
    assert.equal((await prompt(await newSession(wanted))).type, 'session.status_idle')
  }
  assert.equal(second.runs.length, 3)
})

test('D1: a session or agent that names a harness runs on it, and both records name what they run on', async () => {
  const session = (await send(here, 'POST /session', { body: { harness: 'other' } })).json<Session>()
  assert.deepEqual([session.runtime, session.harness], ['other', 'other'])
  const before = second.runs.length
  assert.equal((await prompt(session.id)).type, 'session.status_idle')
  assert.equal(second.runs.length, before + 1)

  const write = { name: 'A', owner_id: 'team' }
  const asAgent = async (line: string, fields: object) => {
    const { config, harness } = (await send(here, line, { body: { ...write, ...fields } })).json<Agent>()
    return [config['runtime'], harness]
  }
  assert.deepEqual(await asAgent('POST /api/agents', { runtime: 'other' }), ['other', 'other'])
  assert.deepEqual(await asAgent('POST /api/agents', { config: { runtime: 'other' } }), ['other', 'other'])
  assert.deepEqual(await asAgent('POST /api/agents', { runtime: 'builtin', harness: 'other' }), ['builtin', 'builtin'])
  const { id } = (await send(here, 'POST /api/agents', { body: write })).json<Agent>()
  const patch = `PATCH /api/agents/${id}`
  assert.deepEqual(await asAgent(patch, { harness: 'other' }), ['other', 'other'])
  assert.deepEqual(await asAgent(patch, { harness: 'other', config: { runtime: 'cursor' } }), ['cursor', 'cursor'])
  assert.deepEqual(await asAgent(patch, { harness: null }), ['builtin', 'builtin'])

  for (const [line, body] of [
    ['POST /session', { harness: 'nope' }],
    ['POST /session', { runtime: 'builtin', harness: 'nope' }],
    ['POST /api/agents', { ...write, harness: 'nope' }],
    [patch, { ...write, harness: 'nope' }],
  ] as const) {
    const answer = await send(here, line, { body })
    assert.equal(answer.status, 400, line)
    assert.match(answer.text, /harness \\"nope\\" is unknown/)
  }
})

test('D1: an imported agent runs on the runtime of its settings, and else on the harness of the file', async () => {
  const imported = async (harness: string, config: object) => {
    const agent = { name: 'A', owner_id: 'team', description: null, model: 'm', system: '', harness, tools: [], config }
    const body = { format: 'switchyard.agent', format_version: 1, agent, skills: [], omitted: [] }
    return (await send(here, 'POST /api/agents/import', { body })).json<Agent>().harness
  }
  assert.equal(await imported('builtin', { runtime: 'other' }), 'other')
  assert.equal(await imported('other', {}), 'other')
})

test('a changed credential is used by the next run of a session that is there already', async () => {
  const session = await newSession({ runtime: 'cursor' })
  const before = first.runs.length
  await connect(second)
  assert.equal((await prompt(session)).type, 'session.status_idle')
  assert.equal(first.runs.length, before)
  await connect(first)
})

test('GET /v1/models?runtime= and GET …/models list the models of the runtime, and an unknown one is 400', async () => {
  const { data } = (await send(here, 'GET /v1/models?runtime=cursor')).json<{ data: { id: string }[] }>()
  const { models } = (await send(here, 'GET /api/agent-runtimes/cursor/models')).json<{ models: { id: string }[] }>()
  assert.deepEqual(
    data.map(({ id }) => id),
    models.map(({ id }) => id),
  )
  assert.ok(models.some(({ id }) => id.startsWith('composer')))
  assert.equal((await send(here, 'GET /v1/models?runtime=nothing')).status, 400)
})

test('GET /api/capabilities names every runtime with its flags', async () => {
  const { runtimes } = (await send(here, 'GET /api/capabilities')).json<{
    runtimes: { id: string; connected: boolean; capabilities: Record<string, boolean> }[]
  }>()
  assert.deepEqual(
    runtimes.map(({ id, connected }) => [id, connected]),
    [
      ['builtin', true],
      ['cursor', true],
      ['claude_managed_agents', false],
      ['other', true],
    ],
  )
  for (const { capabilities } of runtimes) assert.equal(typeof capabilities['streaming'], 'boolean')
})

test('a key of role user reads runtimes and changes none', async () => {
  const user = await holderOf(here)
  for (const line of ['GET /api/runtime-harnesses', 'GET /api/agent-runtimes', 'GET /api/agent-runtimes/cursor/models'])
    assert.equal((await send(user, line)).status, 200, line)
  for (const line of [
    'POST /api/runtime-harnesses',
    'PUT /api/runtime-harnesses/other',
    'DELETE /api/runtime-harnesses/other',
    'POST /api/runtime-harnesses/other/test',
    `PUT ${credentials}`,
    `DELETE ${credentials}`,
    'POST /api/agent-runtimes/cursor/test',
  ])
    assert.equal((await send(user, line, { body: {} })).status, 403, line)
})

test('without its credential a runtime fails the next prompt with the reason, and takes no new session', async () => {
  const session = await newSession({ runtime: 'cursor' })
  assert.equal((await send(here, `DELETE ${credentials}`)).status, 200)
  const end = await prompt(session)
  assert.equal(end.type, 'session.error')
  assert.match(JSON.stringify(end), /runtime cursor is not connected/)
  assert.equal((await send(here, 'POST /session', { body: { runtime: 'cursor' } })).status, 400)
  assert.equal((await send(here, `DELETE /session/${session}`)).status, 200)
})

test('a harness that was removed fails the prompts of its sessions by name', async () => {
  const session = await newSession({ runtime: 'other' })
  assert.deepEqual((await send(here, 'DELETE /api/runtime-harnesses/other')).json(), { ok: true })
  assert.match(JSON.stringify(await prompt(session)), /other/)
})

test('no log line of either server holds a key', () => {
  for (const service of [here, there]) assert.doesNotMatch(service.logs(), /canary/)
})

test('harnesses of the configuration file are shown, locked and used, and follow the file', async () => {
  const entry = { alias: 'of-file', api_spec: 'cursor', api_base: first.url, api_key: first.key }
  const fileWith = (harnesses: readonly object[]) =>
    JSON.stringify({ outbound: { allow: [first.host] }, runtime_harnesses: harnesses })
  const service = await startService({ config: fileWith([entry]) })
  const listed = async () => {
    const { harnesses } = (await send(service, 'GET /api/runtime-harnesses')).json<{ harnesses: RuntimeHarness[] }>()
    return harnesses.filter(({ is_default }) => !is_default)
  }
  const [harness] = await listed()
  assert.deepEqual([harness?.alias, harness?.locked, harness?.masked_api_key], ['of-file', true, '…6789'])
  assert.equal((await send(service, 'DELETE /api/runtime-harnesses/of-file')).status, 409)
  assert.equal((await send(service, 'POST /api/runtime-harnesses/of-file/test')).json()['ok'], true)
  await writeFile(join(service.dataDir, 'test-config.yaml'), fileWith([entry, { ...entry, alias: 'second' }]))
  await eventually(async () => (await listed()).length === 2, { what: 'the changed file' })
})
