import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Deployment } from '../../src/contract/deployments.ts'
import { holderOf } from '../support/keys/virtual-keys.ts'
import { freshDatabase } from '../support/service/database.ts'
import { eventually } from '../support/service/eventually.ts'
import { send, type Target } from '../support/service/send.ts'
import { startService } from '../support/service/service.ts'
import { startScriptedUpstream } from '../support/upstream/scripted-upstream.ts'

const limited = await startScriptedUpstream({ script: [{ status: 429, headers: { 'retry-after': '50' }, body: '{}' }] })
const healthy = await startScriptedUpstream({ script: [{ text: 'fine' }] })
const entry = (url: string, weight: number) => ({
  model_name: 'm',
  params: { model: 'anthropic/claude-sonnet-4-5', api_base: url, api_key: 'sk-upstream-secret', weight },
})
const config = JSON.stringify({
  model_list: [entry(limited.url, 1), entry(healthy.url, 0)],
  outbound: { allow: [limited, healthy].map(({ port }) => `127.0.0.1:${port}`) },
})
const { url: databaseUrl } = await freshDatabase()
const one = await startService({ config, databaseUrl })
const other = await startService({ config, databaseUrl })
after(async () => {
  await Promise.all([one, other].map(service => service.stop()))
  await Promise.all([limited, healthy].map(upstream => upstream.stop()))
})

const deploymentsOf = async (target: Target, query = '') => {
  const answer = await send(target, `GET /api/deployments${query}`)
  assert.equal(answer.status, 200, answer.text)
  assert.ok(!answer.text.includes('sk-upstream-secret') && !answer.text.includes('127.0.0.1'))
  return answer.json<{ deployments: Deployment[]; next_cursor: string | null }>()
}
const cooling = async (target: Target) =>
  (await deploymentsOf(target, '?model_name=m')).deployments.find(({ state }) => state === 'cooling')

test('GET /api/deployments has state, limits and price of each upstream, and DELETE ends a cooldown on every replica', async () => {
  const { deployments } = await deploymentsOf(one)
  assert.deepEqual(
    deployments.map(({ model_name, provider, state, is_scripted }) => [model_name, provider, state, is_scripted]),
    [
      ['m', 'anthropic', 'healthy', false],
      ['m', 'anthropic', 'healthy', false],
      ['demo', 'switchyard', 'healthy', true],
    ],
  )
  const [first] = deployments
  assert.ok(first?.pricing?.source === 'catalogue' && (first.context_window ?? 0) > 0)
  assert.deepEqual([first.cooldown_ms, first.last_error, first.last_error_at, first.weight], [0, null, null, 1])

  const body = { model: 'm', max_tokens: 10, messages: [{ role: 'user', content: 'hi' }] }
  await eventually(async () => (await send(one, 'POST /v1/messages', { body })).status === 200)
  const found = await eventually(() => cooling(one))
  assert.ok(found.cooldown_ms > 0 && found.last_error === 'http_429' && found.last_error_at && found.cooling_until)
  await eventually(() => cooling(other))

  assert.equal((await send(other, `DELETE /api/deployments/${encodeURIComponent(found.id)}/cooldown`)).status, 200)
  for (const target of [one, other]) await eventually(async () => (await cooling(target)) === undefined)
  const { entries } = (await send(one, 'GET /api/audit?action=deployment.end_cooldown')).json<{
    entries: { object_id: string }[]
  }>()
  assert.deepEqual(
    entries.map(({ object_id }) => object_id),
    [found.id],
  )
})

test('pages by key; only admins see deployments, and limited ones end no cooldown', async () => {
  const page = await deploymentsOf(one, '?limit=2')
  assert.equal(page.deployments.length, 2)
  const next = await deploymentsOf(one, `?limit=2&cursor=${page.next_cursor}`)
  assert.deepEqual([next.deployments.map(({ model_name }) => model_name), next.next_cursor], [['demo'], null])
  const [{ id = '' } = {}] = page.deployments
  const user = await holderOf(one, { owner_id: 'ana' })
  const narrow = await holderOf(one, { owner_id: 'ana', role: 'admin' })
  assert.equal((await send(user, 'GET /api/deployments')).status, 403)
  assert.equal((await send(narrow, `DELETE /api/deployments/${encodeURIComponent(id)}/cooldown`)).status, 403)
  assert.equal((await send(one, 'DELETE /api/deployments/none/cooldown')).status, 404)
})
