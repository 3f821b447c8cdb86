import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { freshDatabase } from '../support/service/database.ts'
import { eventually } from '../support/service/eventually.ts'
import { send } from '../support/service/send.ts'
import { startService } from '../support/service/service.ts'
import { jsonAnswer, startByteServer } from '../support/upstream/byte-server.ts'
import { startScriptedUpstream } from '../support/upstream/scripted-upstream.ts'

const canary = 'sk-canary-0123456789-wxyz'
const upstream = await startScriptedUpstream({ script: () => ({ text: 'from the upstream' }) })
/** Rejects every key, and repeats it. */
const echoing = await startByteServer((socket, { head }) => {
  const key = /x-api-key: (.*)\r/i.exec(`${head}\r`)?.[1]
  const body = { error: { message: `no such key: ${key}, ${Buffer.from(key ?? '').toString('hex')}` } }
  socket.end(jsonAnswer(JSON.stringify(body), '401 Unauthorized'))
})
after(() => Promise.all([upstream.stop(), echoing.stop()]))

const { url: databaseUrl } = await freshDatabase()
const options = {
  databaseUrl,
  config: JSON.stringify({ outbound: { allow: [`127.0.0.1:${upstream.port}`, echoing.host] } }),
  env: { SWITCHYARD_ENCRYPTION_KEY: randomBytes(32).toString('base64') },
}
const services = await Promise.all([startService(options), startService(options)])
after(() => Promise.all(services.map(service => service.stop())))
const [here, there] = services as [(typeof services)[0], (typeof services)[0]]

const ask = (service: typeof here, model: string) =>
  send(service, 'POST /v1/messages', {
    body: { model, max_tokens: 10, messages: [{ role: 'user', content: 'hi' }] },
  })
/** What the other replica makes of a change must come by itself, within 5 s. */
const eventuallyThere = (model: string, status: number) =>
  eventually(async () => (await ask(there, model)).status === status, { withinMs: 5_000, what: `${model}: ${status}` })

test('a stored credential makes provider/model callable at once, and on the other replica within 5 s', async () => {
  assert.equal((await ask(here, 'anthropic/claude-x')).status, 404)
  const stored = await send(here, 'PUT /api/providers/anthropic', { body: { api_key: canary, api_base: upstream.url } })
  assert.equal(stored.status, 200)
  const answer = await ask(here, 'anthropic/claude-x')
  assert.equal(answer.status, 200)
  assert.match(answer.text, /from the upstream/)
  assert.equal(upstream.requests.at(-1)?.headers['x-api-key'], canary)
  assert.equal(upstream.requests.at(-1)?.body['model'], 'claude-x')
  assert.equal((await ask(here, 'claude-x')).status, 200)
  await eventuallyThere('anthropic/claude-x', 200)
  const { providers } = (await send(there, 'GET /api/capabilities')).json<{ providers: string[] }>()
  assert.deepEqual(providers, ['anthropic'])
})

test('a model that is added is called with its provider’s key, by its own name and price, and is listed', async () => {
  const body = { model_name: 'opus', litellm_params: { model: 'anthropic/claude-opus-5', input_cost_per_token: 0.5 } }
  const { id } = (await send(here, 'POST /api/models', { body })).json<{ id: string }>()
  const answer = await ask(here, 'opus')
  assert.equal(answer.status, 200)
  assert.equal(answer.headers['x-switchyard-deployment'], id)
  assert.equal(upstream.requests.at(-1)?.headers['x-api-key'], canary)
  assert.equal(upstream.requests.at(-1)?.body['model'], 'claude-opus-5')
  const listed = (await send(here, 'GET /v1/models/opus')).json<{ pricing: { input: number; source: string } }>()
  assert.deepEqual([listed.pricing.input, listed.pricing.source], [500_000, 'config'])
  await eventuallyThere('opus', 200)
  assert.equal((await send(there, `DELETE /api/models/${id}`)).status, 200)
  assert.equal((await ask(there, 'opus')).status, 404)
  await eventually(async () => (await ask(here, 'opus')).status === 404, { withinMs: 5_000 })
})

test('the test of a credential returns the message of the provider, without the key that it repeats', async () => {
  const good = (await send(here, 'POST /api/providers/anthropic/test')).json()
  assert.deepEqual(good, { ok: true, latency_ms: good['latency_ms'] })
  await send(here, 'PUT /api/providers/anthropic', { body: { api_key: canary, api_base: echoing.url } })
  const bad = await send(here, 'POST /api/providers/anthropic/test')
  assert.equal(bad.status, 200)
  const { ok, error } = bad.json<{ ok: boolean; error: string }>()
  assert.equal(ok, false)
  assert.equal(error, 'the provider answered with status 401: no such key: [secret], [secret]')
  await send(here, 'PUT /api/providers/anthropic', { body: { api_key: canary, api_base: upstream.url } })
})

test('a credential can be tested before it is stored, and the test stores nothing', async () => {
  const stateOf = async () => {
    const { providers } = (await send(here, 'GET /api/providers')).json<{ providers: { id: string }[] }>()
    return providers.find(({ id }) => id === 'anthropic')
  }
  const before = await stateOf()
  const tried = (api_base: string) =>
    send(here, 'POST /api/providers/anthropic/test', { body: { api_key: 'sk-of-another-account', api_base } })
  const good = (await tried(upstream.url)).json<{ ok: boolean }>()
  assert.equal(good.ok, true)
  const bad = await tried(echoing.url)
  assert.equal(bad.json<{ ok: boolean }>().ok, false)
  assert.ok(!bad.text.includes('sk-of-another-account'))
  assert.deepEqual(await stateOf(), before)
  const wrong = await send(here, 'POST /api/providers/bedrock/test', { body: { api_key: canary } })
  assert.equal(wrong.status, 400)
})

test('what is stored is there after a restart, and before the first request', async () => {
  await send(here, 'POST /api/models', {
    body: { model_name: 'kept', params: { model: 'anthropic/claude-kept', api_base: upstream.url, api_key: canary } },
  })
  const again = await startService(options)
  try {
    assert.equal((await ask(again, 'kept')).status, 200)
    assert.equal((await ask(again, 'anthropic/claude-x')).status, 200)
  } finally {
    await again.stop()
  }
})

test('a removed credential takes its models away at once, and on the other replica within 5 s', async () => {
  assert.deepEqual((await send(here, 'DELETE /api/providers/anthropic')).json(), { ok: true })
  const answer = await ask(here, 'anthropic/claude-x')
  assert.equal(answer.status, 404)
  assert.match(answer.text, /model anthropic\/claude-x not found/)
  await eventuallyThere('anthropic/claude-x', 404)
})

test('only admins reach providers and model settings', async () => {
  const { key } = (await send(here, 'POST /api/keys', { body: {} })).json<{ key: string }>()
  const user = { url: here.url, key }
  for (const line of [
    'GET /api/providers',
    'PUT /api/providers/openai',
    'DELETE /api/providers/openai',
    'POST /api/providers/openai/test',
    'GET /api/models',
    'POST /api/models',
    'GET /api/models/x',
    'PATCH /api/models/x',
    'DELETE /api/models/x',
  ])
    assert.equal((await send(user, line, { body: {} })).status, 403, line)
})

test('no log line of either replica holds the key', () => {
  for (const service of services) assert.doesNotMatch(service.logs(), /canary/)
})

test('what the environment enables is marked and locked, and what the file has too', async () => {
  const enabled = await startService({ env: { OPENAI_API_KEY: canary, OLLAMA_HOST: '127.0.0.1:9' } })
  const { providers } = (await send(enabled, 'GET /api/providers')).json<{ providers: Record<string, unknown>[] }>()
  const locked = providers.filter(each => each['locked']).map(({ id, source }) => [id, source])
  assert.deepEqual(locked, [
    ['openai', 'environment'],
    ['ollama', 'environment'],
  ])
  const refused = await send(enabled, 'PUT /api/providers/openai', { body: { api_key: 'sk-other-0123456789' } })
  assert.equal(refused.status, 409)
  assert.match(refused.text, /provider openai comes from the environment of the service; change it there/)
  const model = { model_name: 'openai/*', params: { model: 'openai/*', api_key: 'sk-other-0123456789' } }
  assert.equal((await send(enabled, 'POST /api/models', { body: model })).status, 409)
})

test('a model of the file shadows the stored model of the same name, which reports it', async () => {
  const outbound = { allow: [`127.0.0.1:${upstream.port}`] }
  const service = await startService({ config: JSON.stringify({ outbound }) })
  const params = { model: 'anthropic/of-the-api', api_base: upstream.url, api_key: canary }
  const { id } = (await send(service, 'POST /api/models', { body: { model_name: 'm', params } })).json<{ id: string }>()
  const reached = async () => {
    assert.equal((await ask(service, 'm')).status, 200)
    return upstream.requests.at(-1)?.body['model']
  }
  const error = async () => (await send(service, `GET /api/models/${id}`)).json()['error']
  // As in the file that the service starts with: a busy machine must not make it reject calls.
  const limits = { max_loop_delay_ms: 60_000 }
  const configure = (config: object) =>
    writeFile(join(service.dataDir, 'test-config.yaml'), JSON.stringify({ ...config, limits }))

  assert.equal(await reached(), 'of-the-api')
  const ofTheFile = { model: 'anthropic/of-the-file', api_base: upstream.url }
  await configure({ outbound, model_list: [{ model_name: 'm', params: ofTheFile }] })
  await eventually(async () => (await error()) === 'disabled: m comes from the configuration file')
  assert.equal(await reached(), 'of-the-file')
  const patched = await send(service, `PATCH /api/models/${id}`, { body: { params: { weight: 2 } } })
  assert.equal(patched.status, 409)

  await configure({ outbound })
  await eventually(async () => (await error()) === null)
  assert.equal(await reached(), 'of-the-api')
  // An address that may not be called any more takes its own model out, and no other.
  await configure({ outbound: { allow: [] } })
  const refusal = `params.api_base: 127.0.0.1:${upstream.port} is not a public address; to allow it, add "127.0.0.1:${upstream.port}" to outbound.allow`
  await eventually(async () => (await error()) === refusal)
  assert.equal((await ask(service, 'm')).status, 404)
})
