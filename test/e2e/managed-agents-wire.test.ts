import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import type { ManagedAgent } from '../../src/contract/managed-agents.ts'
import { eventually } from '../support/service/eventually.ts'
import { open, send } from '../support/service/send.ts'
import { saying, startScriptedService } from '../support/upstream/scripted-service.ts'

const { service } = await startScriptedService()
const { url: baseURL, key: apiKey } = service
const message = (text: string) => ({ type: 'user.message', content: [{ type: 'text', text }] })

const auth = [{ 'x-api-key': apiKey }, { authorization: `Bearer ${apiKey}` }]

test('every path takes both key headers, any version and ?beta=true; the stream answers whatever is accepted', async () => {
  const place = await send(service, 'POST /v1/environments?beta=true', { body: { name: 'Here' } })
  const agent = await send(service, 'POST /v1/agents?beta=true', { body: { name: 'Ada', model: 'scripted' } })
  const body = { agent: agent.json()['id'], environment_id: place.json()['id'] }
  const { id } = (await send(service, 'POST /v1/sessions?beta=true', { body })).json<{ id: string }>()
  for (const [at, version] of ['2023-06-01', '2026-10-21', 'anything'].entries()) {
    const headers = { ...auth[at % 2], 'anthropic-version': version, accept: 'application/json' }
    for (const path of ['agents', 'environments', 'sessions', `sessions/${id}`, `sessions/${id}/events`]) {
      assert.equal((await send({ url: baseURL }, `GET /v1/${path}?beta=true`, { headers })).status, 200, path)
    }
    const stream = await open({ url: baseURL }, `GET /v1/sessions/${id}/events/stream?beta=true`, { headers })
    stream.destroy()
    assert.equal(stream.statusCode, 200)
    assert.match(stream.headers['content-type'] ?? '', /^text\/event-stream/)
  }
})

test('a creation that is repeated under its Idempotency-Key is done once', async () => {
  const twice = async (line: string, body: object) => {
    const sent = { body, headers: { 'idempotency-key': `once ${line}` } }
    const [first, second] = [await send(service, line, sent), await send(service, line, sent)]
    assert.equal(first.status, 200, first.text)
    assert.equal(second.json()['id'], first.json()['id'])
    return first.json<{ id: string }>().id
  }
  const environment_id = await twice('POST /v1/environments', { name: 'Here' })
  const agent = await twice('POST /v1/agents', { name: 'Ada', model: 'scripted' })
  const initial_events = [message(saying({ text: 'Once.' }))]
  const id = await twice('POST /v1/sessions', { agent, environment_id, initial_events })
  const { data } = (await send(service, `GET /v1/sessions/${id}/events?types[]=user.message`)).json<{
    data: unknown[]
  }>()
  assert.equal(data.length, 1)
})

test('errors have the envelope of the dialect, with the id of the request', async () => {
  for (const line of ['GET /v1/agents/nothing', 'GET /v1/environments/nothing', 'GET /v1/sessions/nothing']) {
    const { status, headers, json } = await send(service, line)
    const body = json<{ type: string; error: { type: string }; request_id: string }>()
    assert.deepEqual([status, body.type, body.error.type], [404, 'error', 'not_found_error'])
    assert.equal(body.request_id, headers['request-id'])
  }
})

/** The fields of a session that can be made. */
async function sessionFields() {
  const place = await send(service, 'POST /v1/environments', { body: { name: 'Here' } })
  const agent = await send(service, 'POST /v1/agents', { body: { name: 'Ada', model: 'scripted' } })
  return { agent: agent.json()['id'], environment_id: place.json()['id'] }
}

const repository = { type: 'github_repository', url: 'https://github.com/example/things' }
for (const [what, resources, words] of [
  ['an unknown file', [{ type: 'file', file_id: 'file_1' }], /^resources\[0\]\.file_id: file file_1 not found$/],
  [
    'an unknown memory store behind a repository',
    [repository, { type: 'memory_store', memory_store_id: 'memstore_1' }],
    /^resources\[1\]\.memory_store_id: memory store memstore_1 not found$/,
  ],
  ['a second repository', [repository, repository], /^resources\[1\]: a session supports at most one repository$/],
  [
    'a token',
    [{ ...repository, authorization_token: 'ghp_x' }],
    /^resources\[0\]\.authorization_token is not stored here/,
  ],
  ['an unknown resource', [{ type: 'tape' }], /^resources\[0\]\.type must be one of .*github_repository/],
] as const) {
  test(`POST /v1/sessions with ${what} as a resource is 400 and makes nothing`, async () => {
    const fields = await sessionFields()
    const answer = await send(service, 'POST /v1/sessions', { body: { ...fields, resources } })
    const { error } = answer.json<{ error: { type: string; message: string } }>()
    assert.deepEqual([answer.status, error.type], [400, 'invalid_request_error'])
    assert.match(error.message, words)
    const { data } = (await send(service, `GET /v1/sessions?agent_id=${fields.agent}`)).json<{ data: unknown[] }>()
    assert.deepEqual(data, [])
  })
}

test('DD1: an unknown vault of a new session is 400 by name, and vault_ids cannot be changed later', async () => {
  const fields = await sessionFields()
  const refused = await send(service, 'POST /v1/sessions', { body: { ...fields, vault_ids: ['vlt_1'] } })
  assert.equal(refused.status, 400)
  assert.match(refused.json<{ error: { message: string } }>().error.message, /^vault_ids\[0\]: vault vlt_1 not found$/)
  const made = await send(service, 'POST /v1/sessions', { body: { ...fields, vault_ids: [] } })
  assert.deepEqual([made.status, made.json()['vault_ids']], [200, []])
  const changed = await send(service, `POST /v1/sessions/${made.json()['id']}`, { body: { vault_ids: ['vlt_3'] } })
  assert.equal(changed.status, 400)
  assert.match(changed.json<{ error: { message: string } }>().error.message, /^vault_ids must be null/)
})

test('DD1: adding a repository to a session is 400 with the time at which it can be named', async () => {
  const { id } = (await send(service, 'POST /v1/sessions', { body: await sessionFields() })).json<{ id: string }>()
  const answer = await send(service, `POST /v1/sessions/${id}/resources`, { body: { ...repository } })
  assert.equal(answer.status, 400)
  assert.match(answer.json<{ error: { message: string } }>().error.message, /when you create the session$/)
})

test('DD1: every path of the dialect answers errors in its envelope', async () => {
  for (const line of [
    'GET /v1/sessions/ses_none',
    'GET /v1/sessions/ses_none/events',
    'GET /v1/sessions/ses_none/events/stream',
    'POST /v1/sessions/ses_none/events',
    'POST /v1/sessions/ses_none/events/tickets',
    'GET /v1/sessions/ses_none/nothing',
    'GET /v1/agents/agent_none',
    'GET /v1/environments/env_none',
  ]) {
    const body = line === 'POST /v1/sessions/ses_none/events' ? { events: [message('hi')] } : undefined
    const { status, headers, json } = await send(service, line, body ? { body } : {})
    const answer = json<{ type: string; error: { type: string }; request_id: string }>()
    assert.deepEqual([status, answer.type, answer.error.type], [404, 'error', 'not_found_error'], line)
    assert.equal(answer.request_id, headers['request-id'], line)
  }
})

test('the list of events keeps to the times that it was asked for, as they are shown', async () => {
  const body = { ...(await sessionFields()), initial_events: [message(saying({ text: 'One.' }))] }
  const { id } = (await send(service, 'POST /v1/sessions', { body })).json<{ id: string }>()
  const list = async (query: Record<string, string> = {}) => {
    const answer = await send(service, `GET /v1/sessions/${id}/events?${new URLSearchParams(query)}`)
    assert.equal(answer.status, 200, answer.text)
    return answer.json<{ data: { seq: number; type: string; processed_at: string }[]; next_page: string | null }>()
  }
  const all = await eventually(async () => {
    const { data } = await list()
    return data.some(({ type }) => type === 'session.status_idle') && data
  })
  const at = all[Math.floor(all.length / 2)]?.processed_at ?? assert.fail()
  const zoned = at.replace('Z', '+00:00')
  for (const [bound, holds] of [
    ['gt', (time: string) => time > at],
    ['gte', (time: string) => time >= at],
    ['lt', (time: string) => time < at],
    ['lte', (time: string) => time <= at],
  ] as const) {
    const wanted = all.filter(({ processed_at }) => holds(processed_at))
    assert.ok(wanted.length < all.length || bound.endsWith('e'))
    assert.deepEqual((await list({ [`created_at[${bound}]`]: zoned })).data, wanted, bound)
    const newest = { [`created_at[${bound}]`]: at, order: 'desc', 'types[]': 'session.status_idle' }
    assert.deepEqual(
      (await list(newest)).data,
      wanted.filter(({ type }) => type === 'session.status_idle').toReversed(),
    )
  }
  const seen: unknown[] = []
  let page: string | null = null
  do {
    const found = await list({ 'created_at[gte]': at, limit: '1', ...(page !== null && { page }) })
    seen.push(...found.data)
    page = found.next_page
  } while (page !== null)
  assert.deepEqual(
    seen,
    all.filter(({ processed_at }) => processed_at >= at),
  )
  const wrong = await send(service, `GET /v1/sessions/${id}/events?created_at[gte]=yesterday`)
  assert.equal(wrong.status, 400)
  assert.match(wrong.text, /created_at\[gte\]/)
})

test('agents of both dialects are the same records', async () => {
  const made = await send(service, 'POST /v1/agents', { body: { name: 'Ada', model: 'scripted', system: 'Theirs.' } })
  const ours = (await send(service, `GET /api/agents/${made.json()['id']}`)).json()
  assert.deepEqual([ours['name'], ours['owner_id'], ours['version'], ours['system']], ['Ada', 'master', 1, 'Theirs.'])
  const body = { name: 'Bo', owner_id: 'master', model: 'scripted', system: 'Ours.', tools: { bash: false } }
  const { id } = (await send(service, 'POST /api/agents', { body })).json<{ id: string }>()
  const theirs = (await send(service, `GET /v1/agents/${id}`)).json<ManagedAgent>()
  assert.deepEqual([theirs.name, theirs.system, theirs.model.id], ['Bo', 'Ours.', 'scripted'])
  assert.match(JSON.stringify(theirs.tools[0]?.['configs']), /^\[\{[^}]*"name":"bash"[^}]*"enabled":false/)
})

test('a session of ours is one of the dialect, with or without an agent', async () => {
  const { id } = (await send(service, 'POST /session', { body: { title: 'Ours' } })).json<{ id: string }>()
  const shown = (await send(service, `GET /v1/sessions/${id}`)).json<{ title: string; agent: { id: string } }>()
  assert.deepEqual([shown.title, shown.agent.id], ['Ours', ''])
  const answer = await send(service, `POST /v1/sessions/${id}`, { body: { metadata: { a: '1' } } })
  assert.deepEqual([answer.json()['title'], answer.json()['metadata']], ['Ours', { a: '1' }])
})

test('the program of the guide runs unchanged', async () => {
  const guide = await readFile(join(import.meta.dirname, '../../docs/managed-agents.md'), 'utf8')
  const [, program = ''] = /```js\n(.*?)```/s.exec(guide) ?? []
  const env = { PATH: process.env['PATH'], SWITCHYARD_URL: baseURL, SWITCHYARD_KEY: apiKey }
  const ran = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program], {
    env,
    timeout: 60_000,
  })
  assert.match(ran.stdout, /^tool: bash$/m)
  assert.match(ran.stdout, /demo model/)
})

test('a budget of the agent is the most that its sessions may have', async () => {
  const fields = { name: 'Ada', owner_id: 'master', model: 'scripted', config: { session_max_budget: 5 } }
  const agent = (await send(service, 'POST /api/agents', { body: fields })).json()['id']
  const environment_id = (await send(service, 'POST /v1/environments', { body: { name: 'Here' } })).json()['id']
  const start = (amount: string) => {
    const budget = { type: 'limit', max_list_cost: { amount, currency: 'USD' } }
    return send(service, 'POST /v1/sessions', { body: { agent, environment_id, budget } })
  }
  const lower = (await start('250')).json<{ budget: { max_list_cost: { amount: string } } }>()
  assert.equal(lower.budget.max_list_cost.amount, '250')
  assert.equal((await start('501')).status, 403)
})
