import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AgentRuntime } from '../../src/contract/runtimes.ts'
import type { Session } from '../../src/contract/sessions.ts'
import { send } from '../support/service/send.ts'
import { startService } from '../support/service/service.ts'

const hosts = ['127.0.0.1:9', '127.0.0.1:10']
const service = await startService({ config: JSON.stringify({ outbound: { allow: hosts } }) })
const post = (path: string, body: unknown) => send(service, `POST ${path}`, { body })

test('D9: null in POST /session means absent, and an empty agent is 400', async () => {
  const fields = ['title', 'agent', 'agent_id', 'agent_version', 'harness', 'runtime', 'model', 'prompt', 'environment']
  const nulls = Object.fromEntries([...fields, 'timezone', 'tz'].map(name => [name, null]))
  const answer = await post('/session', nulls)
  assert.equal(answer.status, 200, answer.text)
  const { title, agent, harness, environment, timezone } = answer.json<Session>()
  assert.deepEqual([title, agent, harness, environment, timezone], ['New session', '', 'builtin', {}, null])
  assert.equal((await post('/session', { timezone: null, tz: 'UTC' })).json<Session>().timezone, 'UTC')
  for (const body of [{ agent: '' }, { agent_id: '' }]) assert.equal((await post('/session', body)).status, 400)
})

test('D9: a second key in the query of a stream is 401 before anything else is read', async () => {
  const { id } = (await post('/session', {})).json<Session>()
  const line = `GET /v1/sessions/${id}/events/stream?key=${service.key}&key=${service.key}&after=x`
  assert.equal((await send({ url: service.url }, line)).status, 401)
})

test('D9: a key that ends in the past is rejected, and one that has ended may be written as it is', async () => {
  const past = await post('/api/keys', { label: 'l', expires_at: '2020-01-01T00:00:00Z' })
  assert.equal(past.status, 400)
  assert.match(past.text, /expires_at 2020-01-01T00:00:00\.000Z is in the past/)
  const made = await post('/api/keys', { label: 'l', expires_at: '2999-01-01T00:00:00Z' })
  const { id, expires_at } = made.json<{ id: string; expires_at: string }>()
  const patch = (body: object) => send(service, `PATCH /api/keys/${id}`, { body })
  assert.equal((await patch({ expires_at })).status, 200)
  assert.equal((await patch({ expires_at: '2020-01-01T00:00:00Z' })).status, 400)
})

test('D9: a credential without api_base keeps the stored address', async () => {
  const put = async (body: object) => {
    const answer = await send(service, 'PUT /api/agent-runtimes/cursor/credentials', { body })
    assert.equal(answer.status, 200, answer.text)
    const { runtimes } = answer.json<{ runtimes: AgentRuntime[] }>()
    return runtimes.find(({ id }) => id === 'cursor')?.api_base
  }
  assert.equal(await put({ api_key: 'key-0123456789', api_base: `http://${hosts[0]}` }), `http://${hosts[0]}`)
  assert.equal(await put({ api_key: 'key-9876543210' }), `http://${hosts[0]}`)
  assert.equal(await put({ api_key: 'key-9876543210', api_base: `http://${hosts[1]}` }), `http://${hosts[1]}`)
})

test('D11: GET /v1/models/{id} of a misspelt model suggests the closest name', async () => {
  const answer = await send(service, 'GET /v1/models/demoo')
  assert.equal(answer.status, 404)
  assert.match(answer.text, /model demoo not found; did you mean demo\?/)
})
