import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import type { ManagedAgent } from '../../src/contract/managed-agents.ts'
import { saying, startScriptedService } from '../support/scripted-service.ts'
import { open, send } from '../support/send.ts'

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

test('the program of the guide runs as it stands', async () => {
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
