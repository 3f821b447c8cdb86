import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ShownApiKey } from '../../src/contract/keys.ts'
import type { Session } from '../../src/contract/sessions.ts'
import { eventually } from '../support/service/eventually.ts'
import { freePort } from '../support/service/free-port.ts'
import { type Answered, send, sendOk } from '../support/service/send.ts'
import { type Service, startService } from '../support/service/service.ts'

// Calls are also admitted on a slow machine.
const limits = 'limits: { max_loop_delay_ms: 10000 }'
const service = await startService({ config: limits })
const listenPort = await freePort()
const open = await startService({
  config: `metrics: { public: true, listen: "127.0.0.1:${listenPort}" }`,
  env: { SWITCHYARD_ROLE: 'worker' },
})
const off = await startService({ config: `metrics: { enabled: false }\n${limits}` })

const scrape = (target: { readonly url: string; readonly key?: string }): Promise<Answered> =>
  send(target, 'GET /metrics')

/** Returns the sum of all values of a metric whose labels contain `labels`. */
function sumOf(page: string, name: string, labels = ''): number {
  const lines = page.split('\n').filter(line => line.startsWith(`${name}{`) || line.startsWith(`${name} `))
  return lines.filter(line => line.includes(labels)).reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)
}

const ask = (on: Service, body: object = {}) =>
  send(on, 'POST /v1/messages', {
    body: { model: 'demo', max_tokens: 100, messages: [{ role: 'user', content: 'Hello' }], ...body },
  })

test('metrics need the master key or a key of role admin', async () => {
  const keyOf = async (role: 'admin' | 'user') =>
    (await sendOk<ShownApiKey>(service, 'POST /api/keys', { body: { label: role, role } })).key
  assert.equal((await scrape({ url: service.url })).status, 401)
  assert.equal((await scrape({ url: service.url, key: await keyOf('user') })).status, 403)
  assert.equal((await scrape({ url: service.url, key: await keyOf('admin') })).status, 200)
  assert.equal((await scrape(service)).status, 200)
})

test('public metrics need no key, also on a worker, and on a separate address that serves nothing else', async () => {
  assert.equal((await scrape({ url: open.url })).status, 200)
  const separate = { url: `http://127.0.0.1:${listenPort}` }
  const { status, text } = await scrape(separate)
  assert.equal(status, 200)
  assert.match(text, /^switchyard_build_info\{version="[\d.]+",role="worker"\} 1$/m)
  assert.equal((await send(separate, 'GET /health')).status, 404)
  assert.equal((await send(separate, 'POST /metrics')).status, 404)
})

test('metrics that are off are 404, and calls work', async () => {
  const answer = await scrape(off)
  assert.deepEqual([answer.status, answer.text.includes('metrics.enabled')], [404, true])
  assert.equal((await ask(off)).status, 200)
})

test('calls, rejections, sessions and tools appear', async () => {
  assert.equal((await ask(service)).status, 200)
  assert.equal((await ask(service, { model: 'no-such-model' })).status, 404)
  const { id } = await sendOk<Session>(service, 'POST /session', { body: { prompt: 'List the folder' } })
  await eventually(async () => (await sendOk<Session>(service, `GET /session/${id}`)).status === 'idle')
  const page = await eventually(async () => {
    const { text } = await scrape(service)
    return sumOf(text, 'switchyard_runs_total', 'outcome="completed"') === 1 && text
  })
  assert.ok(sumOf(page, 'switchyard_model_calls_total', 'outcome="completed"') >= 2)
  assert.ok(sumOf(page, 'switchyard_tokens_total', 'kind="output"') > 0)
  assert.ok(sumOf(page, 'gen_ai_client_operation_duration_seconds_count') >= 2)
  assert.equal(sumOf(page, 'switchyard_model_call_rejections_total', 'code="not_found"'), 1)
  assert.ok(sumOf(page, 'switchyard_tool_calls_total', 'kind="own"') > 0)
  assert.ok(sumOf(page, 'switchyard_leases_acquired_total') >= 1)
  assert.ok(sumOf(page, 'switchyard_sweep_duration_seconds_count', 'sweep="sessions"') >= 1)
  assert.equal(sumOf(page, 'switchyard_database_up'), 1)
  assert.equal(sumOf(page, 'switchyard_deployments', 'state="healthy"'), 1)
})

test('the queue and the leases are counted in the database', async () => {
  const page = await eventually(async () => {
    const { text } = await scrape(service)
    return sumOf(text, 'switchyard_leases') === 0 && text
  })
  assert.equal(sumOf(page, 'switchyard_prompts_waiting'), 0)
  assert.equal(sumOf(page, 'switchyard_sessions', 'state="running"'), 0)
  assert.equal(sumOf(page, 'switchyard_database_connections_max', 'pool="main"'), 20)
})

test('no label contains a key, an owner, a session or a text of a caller', async () => {
  const { id } = await sendOk<Session>(service, 'POST /session', { body: { title: 'canary-title' } })
  await ask(service, { model: 'canary-model' })
  const page = (await scrape(service)).text
  for (const secret of [id, 'canary-title', 'canary-model', service.key]) assert.ok(!page.includes(secret), secret)
})

test('OpenMetrics is served to readers that accept it', async () => {
  const answer = await send(service, 'GET /metrics', { headers: { accept: 'application/openmetrics-text' } })
  assert.match(String(answer.headers['content-type']), /^application\/openmetrics-text/)
  assert.ok(answer.text.endsWith('# EOF\n'))
})
