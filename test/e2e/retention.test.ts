import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ManagedSession, Session } from '../../src/contract/sessions.ts'
import { eventually } from '../support/service/eventually.ts'
import { send } from '../support/service/send.ts'
import { startService } from '../support/service/service.ts'

const service = await startService({
  config: JSON.stringify({ retention: { deleted_sessions: '2s', deliveries: 'never' } }),
})

test('V8: events of a deleted session stay readable in its grace; then they are 404, the record is dead, and DELETE is 204', async () => {
  const made = await send(service, 'POST /session', { body: { prompt: 'hello' } })
  const { id } = made.json<Session>()
  const record = `/api/v1/managed_agents/sessions/${id}`
  await eventually(async () => (await send(service, `GET /session/${id}`)).json<Session>().status === 'idle')
  assert.equal((await send(service, `DELETE ${record}`)).status, 204)
  const graced = await send(service, `GET /v1/sessions/${id}/events`)
  assert.equal(graced.status, 200)

  const isGone = async () => (await send(service, `GET /v1/sessions/${id}/events`)).status === 404
  await eventually(isGone, { what: 'the end of the grace' })
  for (const line of [`GET /v1/sessions/${id}/events/stream`, `POST /v1/sessions/${id}/events/tickets`])
    assert.equal((await send(service, line)).status, 404, line)
  for (const path of ['message', 'prompts'])
    assert.equal((await send(service, `GET /session/${id}/${path}`)).status, 404)
  assert.equal((await send(service, `GET ${record}`)).json<ManagedSession>().sandbox_status, 'dead')
  assert.equal((await send(service, `DELETE ${record}`)).status, 204)
  const usage = await send(service, `GET /api/usage?session_id=${id}&group_by=session`)
  assert.ok(usage.text.includes(id), usage.text)
})

test('V8: a faulty time of retention stops the start with its line', async () => {
  const config = 'retention:\n  ledger: soon\n'
  await assert.rejects(startService({ config }), /:2: retention\.ledger must be a time such as 12h or 30d, or never/)
})
