import assert from 'node:assert/strict'
import { test } from 'node:test'
import { canary, messageOf, settingsApps } from '../../../test/support/gateway/settings-app.ts'

const { pool, start, lastAudit } = await settingsApps()
const { call, served } = start()
const provider = async (id: string) =>
  (await call('GET /api/providers')).body.providers.find((each: { id: string }) => each.id === id)

test('GET /api/providers lists every provider; those of the file are locked and have a masked key', async () => {
  const { status, body } = await call('GET /api/providers')
  assert.equal(status, 200)
  assert.deepEqual(
    body.providers.map(({ id }: { id: string }) => id),
    ['anthropic', 'openai', 'openai-compatible', 'azure', 'gemini', 'vertex', 'bedrock', 'openrouter', 'ollama'],
  )
  assert.deepEqual(await provider('anthropic'), {
    id: 'anthropic',
    name: 'Anthropic',
    protocols: ['anthropic-messages'],
    default_api_base: 'https://api.anthropic.com',
    api_base: 'https://api.anthropic.com',
    connected: true,
    masked_api_key: '…wxyz',
    source: 'file',
    locked: true,
    error: null,
    updated_at: null,
  })
  const { connected, source, masked_api_key, api_base } = await provider('gemini')
  assert.deepEqual(
    [connected, source, masked_api_key, api_base],
    [false, null, null, 'https://generativelanguage.googleapis.com'],
  )
})

test('PUT /api/providers/{id} stores an encrypted credential, serves its models at once, and records the change', async () => {
  const { status, body } = await call('PUT /api/providers/openai', { api_key: canary })
  assert.equal(status, 200)
  assert.deepEqual(body, await provider('openai'))
  assert.deepEqual([body.connected, body.source, body.locked, body.masked_api_key], [true, 'api', false, '…wxyz'])
  assert.deepEqual(
    served.now.map(({ alias, apiKey }) => [alias, apiKey]),
    [
      ['sonnet', canary],
      ['openai/*', canary],
    ],
  )
  const { rows } = await pool.query("select *, encode(sealed, 'escape') as text from provider_credentials")
  assert.equal(rows.length, 1)
  assert.doesNotMatch(JSON.stringify(rows), /canary/)
  assert.deepEqual(await lastAudit(), {
    action: 'provider.set',
    object_id: 'openai',
    before: null,
    after: { api_base: 'https://api.openai.com/v1', parameters: ['api_key'] },
  })
})

test('S25: PUT replaces the whole credential: a new address never gets the old key', async () => {
  const refused = await call('PUT /api/providers/openai', { api_base: 'https://elsewhere.example/v1' })
  assert.equal(refused.status, 400)
  assert.match(messageOf(refused), /^api_key is required/)
  await call('PUT /api/providers/openai-compatible', { api_base: 'https://a.example/v1', api_key: canary })
  const moved = await call('PUT /api/providers/openai-compatible', { api_base: 'https://b.example/v1' })
  assert.deepEqual([moved.body.api_base, moved.body.masked_api_key], ['https://b.example/v1', null])
  assert.equal(served.now.find(({ alias }) => alias === 'openai-compatible/*')?.apiKey, undefined)
})

const refusals: readonly (readonly [line: string, body: object, status: number, message: RegExp])[] = [
  ['PUT /api/providers/openai', { api_key: '  ' }, 400, /^api_key must not be blank$/],
  ['PUT /api/providers/openai', { api_key: 5 }, 400, /^api_key must be string$/],
  ['PUT /api/providers/openai', { api_key: 'a\nb' }, 400, /^api_key is empty or contains a character/],
  [
    'PUT /api/providers/openai',
    { api_key: canary, api_base: 'https://169.254.169.254' },
    400,
    /^api_base: 169\.254\.169\.254:443 is not a public address; to allow it, add "169\.254\.169\.254:443" to outbound\.allow$/,
  ],
  ['PUT /api/providers/bedrock', { api_key: canary }, 400, /^aws_region_name or api_base is required for bedrock/],
  ['PUT /api/providers/nothing', { api_key: canary }, 404, /^provider nothing not found$/],
  [
    'PUT /api/providers/anthropic',
    { api_key: canary },
    409,
    /^provider anthropic comes from the configuration file; change it there$/,
  ],
  ['DELETE /api/providers/anthropic', {}, 409, /^provider anthropic comes from the configuration file/],
  ['DELETE /api/providers/gemini', {}, 404, /^provider gemini has no stored credential$/],
  ['DELETE /api/providers/nothing', {}, 404, /^provider nothing not found$/],
  ['POST /api/providers/nothing/test', {}, 404, /^provider nothing not found$/],
  ['POST /api/providers/gemini/test', {}, 409, /^provider gemini is not connected; store its credential first$/],
]
for (const [line, body, status, message] of refusals) {
  test(`${line} ${JSON.stringify(body)} is ${status}`, async () => {
    const answer = await call(line, body)
    assert.equal(answer.status, status)
    assert.match(messageOf(answer), message)
  })
}

test('POST /api/providers/{id}/test uses the active credential', async () => {
  assert.deepEqual((await call('POST /api/providers/anthropic/test')).body, { ok: true, latency_ms: 7 })
  await call('PUT /api/providers/ollama', {})
  assert.deepEqual((await call('POST /api/providers/ollama/test')).body, { ok: false, latency_ms: 7, error: 'no key' })
})

test('POST /api/providers/{id}/test with a credential checks that one, stores nothing and calls no address that is not allowed', async () => {
  const before = await provider('openrouter')
  assert.deepEqual((await call('POST /api/providers/openrouter/test', { api_key: canary })).body, {
    ok: true,
    latency_ms: 7,
  })
  assert.deepEqual(await provider('openrouter'), before)
  const inside = { api_key: canary, api_base: 'https://169.254.169.254' }
  const refused = await call('POST /api/providers/openrouter/test', inside)
  assert.equal(refused.status, 400)
  assert.match(messageOf(refused), /^api_base: 169\.254\.169\.254:443 is not a public address/)
})

test('DELETE /api/providers/{id} removes its models at once; models that relied on it report the reason', async () => {
  await call('PUT /api/providers/gemini', { api_key: canary })
  const model = { model_name: 'relying', params: { model: 'gemini/gemini-3-pro' } }
  const { id } = (await call('POST /api/models', model)).body
  assert.ok(served.now.some(({ alias }) => alias === 'relying'))
  assert.deepEqual((await call('DELETE /api/providers/gemini')).body, { ok: true })
  assert.ok(!served.now.some(({ provider: name }) => name === 'gemini'))
  assert.match(
    (await call(`GET /api/models/${id}`)).body.error,
    /^params\.api_key is required: provider gemini has no stored credential/,
  )
  const { before: known, after: gone, action } = await lastAudit()
  assert.deepEqual(
    [action, known.api_base, gone],
    ['provider.delete', 'https://generativelanguage.googleapis.com', null],
  )
})
