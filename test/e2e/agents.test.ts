import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Agent, AgentVersion, ListedAgent } from '../../src/contract/agents.ts'
import type { Session } from '../../src/contract/sessions.ts'
import { send } from '../support/service/send.ts'
import { startScriptedService } from '../support/upstream/scripted-service.ts'

const { service, upstream } = await startScriptedService({ models: ['first', 'second'] })

const minimal = { name: 'Ada', owner_id: 'team' }
const post = (path: string, body?: unknown) => send(service, `POST ${path}`, body === undefined ? {} : { body })
const get = (path: string) => send(service, `GET ${path}`)
const create = async (fields: object = {}): Promise<Agent> => {
  const answer = await post('/api/agents', { ...minimal, ...fields })
  assert.equal(answer.status, 201, answer.text)
  return answer.json<Agent>()
}
const patch = async (id: string, fields: object): Promise<Agent> => {
  const answer = await send(service, `PATCH /api/agents/${id}`, { body: { ...minimal, ...fields } })
  assert.equal(answer.status, 200, answer.text)
  return answer.json<Agent>()
}

test('POST /api/agents with name and owner alone is 201 and fills in every default', async () => {
  const { id, created_at, ...rest } = await create()
  assert.match(id, /^agent_/)
  assert.ok(Math.abs(Date.now() - created_at) < 60_000, 'created_at is in milliseconds')
  assert.deepEqual(rest, {
    ...minimal,
    model: 'first',
    system: '',
    tools: {},
    config: { runtime: 'builtin' },
    status: 'active',
    description: null,
    harness: 'builtin',
    version: 1,
    run_as_key_id: null,
  })
})

test('POST keeps what was sent: tools as array or object, config, any model name', async () => {
  const tools = [
    { type: 'agent_toolset_20260401', configs: [{ name: 'bash', enabled: false }] },
    { type: 'x', y: [null, 1.5] },
  ]
  const config = { webhook: { secret_key: 'HOOK' }, mcp_servers: [], max_turns: 3 }
  const sent = { system: 'Be terse.', prompt: 'not used', description: 'd', model: 'nobody/knows-this', tools, config }
  const made = await create({ ...sent, runtime: 'builtin' })
  const { prompt: _, ...kept } = sent
  assert.deepEqual({ ...made, ...kept, config: { ...config, runtime: 'builtin' } }, made)
  assert.deepEqual((await get(`/api/agents/${made.id}`)).json(), made)
  assert.deepEqual((await create({ tools: { bash: false } })).tools, { bash: false })
  assert.deepEqual((await create({ tools: null })).tools, {})
  assert.deepEqual((await create({ tools: [] })).tools, [])
})

test('the system prompt is system, else prompt, else empty; the same in PATCH, where neither leaves it', async () => {
  assert.equal((await create({ prompt: 'from prompt' })).system, 'from prompt')
  assert.equal((await create({ system: '', prompt: 'from prompt' })).system, '')
  const { id } = await create({ system: 'one' })
  assert.equal((await patch(id, {})).system, 'one')
  assert.equal((await patch(id, { prompt: 'two' })).system, 'two')
  assert.equal((await patch(id, { system: 'three', prompt: 'not used' })).system, 'three')
  assert.equal((await patch(id, { system: null })).system, '')
})

test('PATCH needs name and owner, changes what it names and nothing else; null clears', async () => {
  const made = await create({ description: 'old', model: 'second', tools: [{ type: 'bash' }], system: 's' })
  for (const body of [
    {},
    { name: 'x' },
    { owner_id: 'x' },
    { name: ' ', owner_id: 'x' },
    { name: 'x', owner_id: null },
  ]) {
    assert.equal((await send(service, `PATCH /api/agents/${made.id}`, { body })).status, 400, JSON.stringify(body))
  }
  const renamed = await patch(made.id, { name: 'Grace' })
  assert.deepEqual(renamed, { ...made, name: 'Grace', version: 2 })
  const cleared = await patch(made.id, { description: null, model: null, tools: null, harness: null })
  assert.deepEqual(cleared, { ...made, description: null, model: 'first', tools: {}, harness: 'builtin', version: 3 })
  assert.equal((await send(service, 'PATCH /api/agents/agent_nothing', { body: minimal })).status, 404)
})

test('PATCH merges config by its top-level keys; a null key is removed, and runtime changes no other key', async () => {
  const { id } = await create({ config: { a: { deep: 1, kept: 2 }, b: 1, c: 1 } })
  const merged = await patch(id, { config: { a: { deep: 9 }, b: null, d: [1] } })
  assert.deepEqual(merged.config, { a: { deep: 9 }, c: 1, d: [1], runtime: 'builtin' })
  assert.deepEqual((await patch(id, { runtime: 'builtin' })).config, merged.config)
  assert.deepEqual((await patch(id, { config: {} })).config, merged.config)
  const unknown = await send(service, `PATCH /api/agents/${id}`, { body: { ...minimal, runtime: 'nope' } })
  assert.equal(unknown.status, 400)
  assert.deepEqual((await get(`/api/agents/${id}`)).json<Agent>().config, merged.config)
})

test('GET /api/agents pages newest first, filters by owner, and marks the last page', async () => {
  const owner_id = 'paging'
  const made: string[] = []
  for (const name of ['a', 'b', 'c', 'd', 'e']) made.unshift((await create({ name, owner_id })).id)
  const seen: string[] = []
  let cursor = ''
  do {
    const { agents, next_cursor } = (await get(`/api/agents?owner_id=${owner_id}&limit=2${cursor}`)).json<{
      agents: Agent[]
      next_cursor: string | null
    }>()
    assert.ok(agents.length <= 2)
    seen.push(...agents.map(({ id }) => id))
    cursor = next_cursor === null ? '' : `&cursor=${next_cursor}`
  } while (cursor !== '')
  assert.deepEqual(seen, made)
  const all = (await get('/api/agents?limit=200')).json<{ agents: Agent[] }>().agents
  assert.ok(all.length > made.length)
  assert.deepEqual((await get('/api/agents?owner_id=nobody')).json(), { agents: [], next_cursor: null })
})

test('DELETE answers {"ok":true}; afterwards the agent is 404 everywhere, and a repeat too', async () => {
  const { id } = await create()
  const session = (await post('/session', { agent_id: id })).json<Session>()
  const gone = await send(service, `DELETE /api/agents/${id}`)
  assert.equal(gone.status, 200)
  assert.deepEqual(gone.json(), { ok: true })
  const message = { error: { type: 'gateway_error', message: `agent ${id} not found` } }
  for (const line of [`GET /api/agents/${id}`, `DELETE /api/agents/${id}`, `POST /api/agents/${id}/pause`]) {
    const answer = await send(service, line)
    assert.equal(answer.status, 404, line)
    assert.deepEqual(answer.json(), message)
  }
  assert.equal((await post('/session', { agent_id: id })).status, 404)
  assert.equal((await get(`/session/${session.id}`)).json<Session>().agent_id, id)
})

test('a paused or archived agent takes no new sessions, and runs again after resume', async () => {
  const { id } = await create()
  for (const [verb, status] of [
    ['pause', 'paused'],
    ['archive', 'archived'],
  ] as const) {
    const changed = await post(`/api/agents/${id}/${verb}`)
    assert.equal(changed.status, 200)
    assert.equal(changed.json<Agent>().status, status)
    const refused = await post('/session', { agent_id: id })
    assert.equal(refused.status, 409)
    assert.match(refused.text, new RegExp(status))
    assert.equal((await post(`/api/agents/${id}/resume`)).json<Agent>().status, 'active')
    assert.equal((await post('/session', { agent_id: id })).status, 200)
  }
  assert.equal((await post('/api/agents/agent_nothing/pause')).status, 404)
})

test('every change is a version; rollback brings an old one back as a new version', async () => {
  const made = await create({ system: 'v1', config: { a: 1 } })
  await patch(made.id, { system: 'v2', config: { a: 2 } })
  await post(`/api/agents/${made.id}/pause`)
  const listed = (await get(`/api/agents/${made.id}/versions`)).json<{ versions: AgentVersion[]; next_cursor: null }>()
  assert.deepEqual(
    listed.versions.map(({ version, agent }) => [version, agent.system, agent.status]),
    [
      [3, 'v2', 'paused'],
      [2, 'v2', 'active'],
      [1, 'v1', 'active'],
    ],
  )
  assert.equal(listed.next_cursor, null)
  const back = await post(`/api/agents/${made.id}/versions/1/rollback`)
  assert.equal(back.status, 200)
  assert.deepEqual(back.json(), { ...made, version: 4, status: 'paused' })
  assert.equal((await post(`/api/agents/${made.id}/versions/99/rollback`)).status, 404)
  assert.equal((await post(`/api/agents/${made.id}/versions/0/rollback`)).status, 400)
  assert.equal((await post(`/api/agents/${made.id}/versions/x/rollback`)).status, 400)
  const page = (await get(`/api/agents/${made.id}/versions?limit=3`)).json<{ next_cursor: string }>()
  const rest = (await get(`/api/agents/${made.id}/versions?limit=3&cursor=${page.next_cursor}`)).json<{
    versions: AgentVersion[]
  }>()
  assert.deepEqual(
    rest.versions.map(({ version }) => version),
    [1],
  )
})

test('twenty updates at the same time are twenty versions: none is lost', async () => {
  const { id } = await create()
  await Promise.all(Array.from({ length: 20 }, (_, at) => patch(id, { config: { [`key_${at}`]: at } })))
  const agent = (await get(`/api/agents/${id}`)).json<Agent>()
  assert.equal(agent.version, 21)
  assert.equal(Object.keys(agent.config).length, 21)
})

test('an Idempotency-Key makes one agent, replays the answer, and rejects another body', async () => {
  const headers = { 'idempotency-key': 'agent-key-1' }
  const body = { name: 'Once', owner_id: 'once' }
  const answers = await Promise.all(
    Array.from({ length: 5 }, () => send(service, 'POST /api/agents', { headers, body })),
  )
  for (const { status } of answers) assert.equal(status, 201)
  assert.equal(new Set(answers.map(({ text }) => text)).size, 1)
  assert.equal((await get('/api/agents?owner_id=once')).json<{ agents: Agent[] }>().agents.length, 1)
  const other = await send(service, 'POST /api/agents', { headers, body: { ...body, name: 'Other' } })
  assert.equal(other.status, 422)
  const tooLong = { 'idempotency-key': 'x'.repeat(256) }
  assert.equal((await send(service, 'POST /api/agents', { headers: tooLong, body })).status, 400)
})

test('a session runs the version of the agent that it was made with', async () => {
  const { id } = await create({ system: 'OLD SYSTEM PROMPT', model: 'second' })
  const session = (await post('/session', { agent_id: id })).json<Session>()
  await patch(id, { system: 'NEW SYSTEM PROMPT' })
  await send(service, `POST /session/${session.id}/message`, {
    body: { model: { modelID: 'second' }, parts: [{ type: 'text', text: 'hello' }] },
  })
  const request = upstream.requests.at(-1)
  assert.equal(request?.body['model'], 'second')
  assert.match(JSON.stringify(request?.body['system']), /OLD SYSTEM PROMPT/)
})

test('a version has its note and author; expected_version rejects a write on an older version with 409', async () => {
  const { id, version } = await create({ note: '  first draft ' })
  const changed = await patch(id, { system: 'one', note: 'shorter', expected_version: version })
  const late = await send(service, `PATCH /api/agents/${id}`, {
    body: { ...minimal, system: 'two', expected_version: version },
  })
  assert.equal(late.status, 409)
  assert.match(late.text, /is at version 2, not 1/)
  assert.equal((await get(`/api/agents/${id}`)).json<Agent>().system, 'one')
  await patch(id, { system: 'three', expected_version: changed.version })
  await post(`/api/agents/${id}/versions/1/rollback`, { note: 'three was worse' })
  await post(`/api/agents/${id}/versions/2/rollback`)
  const { versions } = (await get(`/api/agents/${id}/versions`)).json<{ versions: AgentVersion[] }>()
  assert.deepEqual(
    versions.map(({ note, created_by }) => [note, created_by]),
    [null, 'three was worse', null, 'shorter', 'first draft'].map(note => [note, 'master']),
  )
})

test('GET /api/agents filters by status, runtime, model and a part of the name, and adds the last session', async () => {
  const owner_id = 'filters'
  const one = await create({ owner_id, name: 'Release notes', model: 'second' })
  const two = await create({ owner_id, name: 'Reviewer' })
  await post(`/api/agents/${two.id}/pause`)
  const found = async (query: string) =>
    (await get(`/api/agents?owner_id=${owner_id}&${query}`)).json<{ agents: ListedAgent[] }>().agents
  const ids = async (query: string) => (await found(query)).map(({ id }) => id)
  assert.deepEqual(await ids('status=paused'), [two.id])
  assert.deepEqual(await ids('model=second'), [one.id])
  assert.deepEqual(await ids('runtime=cursor'), [])
  assert.deepEqual(await ids('runtime=builtin&q=RE'), [two.id, one.id])
  assert.deepEqual(await ids('q=notes'), [one.id])
  assert.deepEqual(await ids(`q=${two.id}`), [two.id])
  assert.equal((await get('/api/agents?status=old')).status, 400)

  await post('/session', { agent_id: one.id, title: 'Older' })
  const session = (await post('/session', { agent_id: one.id, title: 'Newer' })).json<Session>()
  const deleted = (await post('/session', { agent_id: two.id })).json<Session>()
  await send(service, `DELETE /session/${deleted.id}`)
  const [second, first] = await found('include=last_session')
  assert.deepEqual(first?.last_session, {
    id: session.id,
    title: 'Newer',
    status: 'idle',
    created_at: session.time.created,
    updated_at: session.time.updated,
  })
  assert.equal(second?.last_session, null)
  assert.ok(!('last_session' in ((await found('q=notes'))[0] ?? {})))
})
