import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Prompt } from '../../src/contract/prompts.ts'
import type { User } from '../../src/contract/users.ts'
import { call, startPricedService } from '../support/keys/priced-service.ts'
import { holderOf } from '../support/keys/virtual-keys.ts'
import { eventually } from '../support/service/eventually.ts'
import { send, sendOk } from '../support/service/send.ts'

const { service, upstream } = await startPricedService({ config: { limits: { batch_calls: 2 } } })
const reason = /was revoked, has expired or may only read/

test('H3: once its user is a viewer, a key makes no further call for batches, background responses and prompts', async () => {
  const user = await sendOk<User>(service, 'POST /api/users', { body: { name: 'Ada' } })
  const key = await holderOf(service, { user_id: user.id })
  upstream.hold()
  const requests = Array.from({ length: 6 }, (_, at) => ({ custom_id: `line-${at}`, params: call }))
  const batch = await sendOk<{ id: string }>(key, 'POST /v1/messages/batches', { body: { requests } })
  const ask = { model: 'priced', input: 'hi', max_output_tokens: 100, background: true }
  const response = await sendOk<{ id: string }>(key, 'POST /v1/responses', { body: ask })
  const session = await sendOk<{ id: string }>(key, 'POST /session', { body: {} })
  const prompt = { model: { modelID: 'priced', providerID: 'switchyard' }, parts: [{ type: 'text', text: 'hi' }] }
  for (let at = 0; at < 2; at++) await sendOk(key, `POST /session/${session.id}/prompt_async`, { body: prompt })
  // Two lines, the response and the first prompt.
  await upstream.received(4)
  await sendOk(service, `PATCH /api/users/${user.id}`, { body: { role: 'viewer' } })
  await eventually(async () => (await send(key, 'POST /session', { body: {} })).status === 403)
  const failed = await eventually(async () => {
    const found = await sendOk<{ status: string; error: { code: string; message: string } | null }>(
      key,
      `GET /v1/responses/${response.id}`,
    )
    return found.status === 'failed' && found.error
  })
  assert.equal(failed?.code, 'invalid_api_key')
  assert.match(failed?.message ?? '', reason)
  upstream.release()

  const { results_url: results } = await eventually(async () => {
    const found = await sendOk<{ results_url: string | null }>(key, `GET /v1/messages/batches/${batch.id}`)
    return found.results_url !== null && found
  })
  assert.ok(results)
  const lines = (await send(key, `GET /v1/messages/batches/${batch.id}/results`)).text.trim().split('\n')
  assert.equal(lines.filter(line => reason.test(line)).length, 4, lines.join('\n'))
  const { data: prompts } = await eventually(async () => {
    const found = await sendOk<{ data: Prompt[] }>(key, `GET /session/${session.id}/prompts`)
    return found.data.every(({ state }) => state !== 'waiting' && state !== 'running') && found
  })
  assert.deepEqual(
    prompts.map(({ state }) => state),
    ['done', 'error'],
  )
  assert.match((await send(key, `GET /v1/sessions/${session.id}/events`)).text, reason)
  assert.equal(upstream.requests.length, 4)
})
