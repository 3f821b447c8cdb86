import assert from 'node:assert/strict'
import { test } from 'node:test'
import { canary, messageOf, settingsApps } from '../../../test/support/gateway/settings-app.ts'
import { masterCaller } from '../http/caller.ts'

const { pool, start, lastAudit } = await settingsApps()
const { call, served } = start()
const added = async (params: object, model_name = 'm') =>
  (await call('POST /api/models', { model_name, params })).body as { id: string }

test('POST /api/models adds a model at once, encrypted and masked, and lists it after those of the file', async () => {
  const params = { model: 'anthropic/claude-opus-5', api_key: canary, weight: 2, headers: { 'x-team': canary } }
  const { status, body } = await call('POST /api/models', { model_name: 'opus', params })
  assert.equal(status, 201)
  assert.match(body.id, /^dep_/)
  assert.deepEqual(body.params, { ...params, api_key: '…wxyz', headers: { 'x-team': '…wxyz' } })
  assert.deepEqual([body.source, body.locked, body.error, body.created_by], ['api', false, null, 'master'])
  const deployment = served.now.find(({ id }) => id === body.id)
  assert.deepEqual(
    [deployment?.alias, deployment?.apiKey, deployment?.weight, deployment?.headers],
    ['opus', canary, 2, { 'x-team': canary }],
  )
  const { rows } = await pool.query("select *, encode(sealed, 'escape') as text from deployments")
  assert.doesNotMatch(JSON.stringify(rows), /canary/)
  const { action, object_id, after: now } = await lastAudit()
  assert.deepEqual([action, object_id, now.model_name], ['model.create', body.id, 'opus'])
  const { models } = (await call('GET /api/models')).body
  assert.deepEqual([models[0].id, models[0].source, models[0].locked], ['sonnet.1', 'file', true])
  assert.equal(models[0].params.api_key, '…wxyz')
  assert.deepEqual(
    models.find(({ id }: { id: string }) => id === body.id),
    body,
  )
})

const wrongModels: readonly (readonly [body: object, status: number, message: RegExp])[] = [
  [{}, 400, /^model_name is required; params is required$/],
  [{ model_name: 'm' }, 400, /^params is required$/],
  [{ model_name: 'm', params: { model: 5 } }, 400, /^params\.model must be string$/],
  [{ model_name: 'm', params: { model: 'x' } }, 400, /^params\.model must be "<provider>\/<upstream id>"/],
  [{ model_name: 'm', litellm_params: { model: 'x' } }, 400, /^litellm_params\.model must be/],
  [{ model_name: 'm', params: { model: 'ollama/x', weight: 'a' } }, 400, /^params\.weight must be number$/],
  [
    { model_name: 'm', params: { model: 'ollama/x', timeouts: { total: 5 } } },
    400,
    /^unknown key params\.timeouts\.total/,
  ],
  [{ model_name: 'demo', params: { model: 'ollama/x' } }, 400, /^model_name demo is the scripted model/],
  [
    { model_name: 'sonnet', params: { model: 'ollama/x' } },
    409,
    /^model_name sonnet comes from the configuration file; add the deployment there, or choose another name$/,
  ],
]
for (const [body, status, message] of wrongModels) {
  test(`POST /api/models ${JSON.stringify(body)} is ${status}`, async () => {
    const answer = await call('POST /api/models', body)
    assert.equal(answer.status, status)
    assert.match(messageOf(answer), message)
  })
}

test('POST /api/models rejects unknown fields with 400 and omits null parameters', async () => {
  const loose = { model_name: 'loose', litellm_params: { model: 'ollama/x', rpm: null } }
  for (const field of ['id', 'source', 'model_info']) {
    const refused = await call('POST /api/models', { ...loose, [field]: {} })
    assert.equal(refused.status, 400)
    assert.match(refused.body.error.message, new RegExp(field))
  }
  const answer = await call('POST /api/models', loose)
  assert.equal(answer.status, 201)
  assert.deepEqual([answer.body.source, answer.body.params], ['api', { model: 'ollama/x' }])
})

test('POST /api/models accepts a list of protocols or one pinned protocol', async () => {
  const listed = ['openai-chat', 'anthropic-messages']
  const { id } = await added({ model: 'ollama/x', protocols: listed })
  assert.deepEqual(served.now.find(each => each.id === id)?.protocols, listed)
  assert.deepEqual((await call(`GET /api/models/${id}`)).body.params, { model: 'ollama/x', protocols: listed })
  const two = await call(`PATCH /api/models/${id}`, { params: { protocol: 'openai-chat' } })
  assert.equal(two.status, 400)
  assert.match(two.body.error.message, /protocol and protocols exclude each other/)
  await call(`PATCH /api/models/${id}`, { params: { protocol: 'openai-chat', protocols: null } })
  const pinned = served.now.find(each => each.id === id)
  assert.deepEqual([pinned?.protocols, pinned?.apiBase], [['openai-chat'], 'http://127.0.0.1:11434/v1'])
})

test('PATCH /api/models/{id} keeps omitted fields, including secrets', async () => {
  const { id } = await added({ model: 'openai/gpt-x', api_key: canary, weight: 2, rpm: 5 })
  const { status, body } = await call(`PATCH /api/models/${id}`, { params: { weight: 3, rpm: null } })
  assert.equal(status, 200)
  assert.deepEqual(body.params, { model: 'openai/gpt-x', api_key: '…wxyz', weight: 3 })
  const deployment = served.now.find(each => each.id === id)
  assert.deepEqual([deployment?.apiKey, deployment?.weight, deployment?.rpm], [canary, 3, undefined])
  const { before: old, after: now, action } = await lastAudit()
  assert.deepEqual([action, old.params.weight, now.params.weight, now.given], ['model.update', 2, 3, ['weight', 'rpm']])
  const renamed = await call(`PATCH /api/models/${id}`, { model_name: 'other' })
  assert.equal(renamed.body.model_name, 'other')
  assert.equal((await call(`PATCH /api/models/${id}`, { model_name: 'sonnet' })).status, 409)
})

const moves: readonly (readonly [name: string, params: object])[] = [
  ['another address', { api_base: 'https://evil.example' }],
  ['another port', { api_base: 'https://api.openai.com:444/v1' }],
  ['another provider', { model: 'openrouter/x' }],
]
for (const [name, params] of moves) {
  test(`S25: PATCH /api/models/{id} to ${name} does not send the stored key there`, async () => {
    const { id } = await added({ model: 'openai/gpt-x', api_key: canary })
    const refused = await call(`PATCH /api/models/${id}`, { params })
    assert.equal(refused.status, 400)
    assert.match(messageOf(refused), /^params\.api_key was stored for https:\/\/api\.openai\.com, not for /)
    assert.equal(served.now.find(each => each.id === id)?.apiBase, 'https://api.openai.com/v1')
    const given = await call(`PATCH /api/models/${id}`, { params: { ...params, api_key: 'sk-another-0123456789' } })
    assert.equal(given.status, 200)
    assert.equal(served.now.find(each => each.id === id)?.apiKey, 'sk-another-0123456789')
  })
}

test('the mask that GET returns is never stored as a secret', async () => {
  const { id } = await added({ model: 'openai/gpt-x', api_key: canary, headers: { 'x-team': canary } })
  const { params } = (await call(`GET /api/models/${id}`)).body
  assert.equal((await call(`PATCH /api/models/${id}`, { params })).status, 400)
  assert.equal(served.now.find(each => each.id === id)?.apiKey, canary)
})

test('models of the file or of a stored credential cannot be changed or deleted', async () => {
  await call('PUT /api/providers/openai', { api_key: canary })
  for (const [id, message] of [
    ['sonnet.1', 'model sonnet.1 comes from the configuration file; change it there'],
    ['openai/*.1', 'model openai/*.1 comes from the stored credential of its provider; change it with /api/providers'],
  ] as const) {
    const path = `/api/models/${encodeURIComponent(id)}`
    assert.equal((await call(`GET ${path}`)).body.locked, true)
    for (const line of [`PATCH ${path}`, `DELETE ${path}`]) {
      const answer = await call(line, { params: { weight: 2 } })
      assert.equal(answer.status, 409)
      assert.equal(messageOf(answer), message)
    }
  }
})

test('DELETE /api/models/{id} removes the model at once; a second one is 404', async () => {
  const { id } = await added({ model: 'openai/gpt-x', api_key: canary }, 'short-lived')
  assert.deepEqual((await call(`DELETE /api/models/${id}`)).body, { ok: true })
  assert.ok(!served.now.some(({ alias }) => alias === 'short-lived'))
  for (const line of ['GET', 'PATCH', 'DELETE']) {
    const answer = await call(`${line} /api/models/${id}`, {})
    assert.deepEqual([answer.status, messageOf(answer)], [404, `model ${id} not found`])
  }
})

test('GET /api/models is paginated', async () => {
  const all = (await call('GET /api/models?limit=200')).body.models
  const first = (await call('GET /api/models?limit=2')).body
  const rest = (await call(`GET /api/models?limit=200&cursor=${first.next_cursor}`)).body
  assert.deepEqual([...first.models, ...rest.models], all)
  assert.equal(rest.next_cursor, null)
})

test('S55: a change is rolled back if its audit entry cannot be written', async () => {
  const failing = start({ audit: { record: () => Promise.reject(new Error('disk full')) } })
  const model = { model_name: 'unaudited', params: { model: 'ollama/x' } }
  assert.equal((await failing.call('POST /api/models', model)).status, 500)
  assert.equal(
    (await failing.call('PUT /api/providers/azure', { api_key: canary, api_base: 'https://a.example' })).status,
    500,
  )
  const { rows } = await pool.query(
    "select id from deployments where model_name = 'unaudited' union select id from provider_credentials where id = 'azure'",
  )
  assert.deepEqual(rows, [])
})

test('a row that cannot be decrypted is disabled with the reason, and can be replaced', async () => {
  const { id } = await added({ model: 'openai/gpt-x', api_key: canary }, 'damaged')
  await pool.query('update deployments set sealed = $2, updated_at = clock_timestamp() where id = $1', [
    id,
    Buffer.alloc(80),
  ])
  const other = start()
  await other.inForce.refresh()
  const { error, params } = (await other.call(`GET /api/models/${id}`)).body
  assert.equal(error, 'its encrypted value is damaged or was modified; store it again')
  assert.equal(params.api_key, '…wxyz')
  const kept = await other.call(`PATCH /api/models/${id}`, { params: { weight: 2 } })
  assert.equal(kept.status, 409)
  assert.match(messageOf(kept), /^the stored params\.api_key cannot be decrypted; send it again/)
  const mended = await other.call(`PATCH /api/models/${id}`, { params: { api_key: canary } })
  assert.deepEqual([mended.status, mended.body.error], [200, null])
})

const key = { id: 'key_1', models: [], isLimited: false, isNarrow: false, expires: false }
const narrow = [
  ['an owner', { ...masterCaller, principal: 'ada', ownerScope: 'ada', key: { ...key, isNarrow: true } }],
  ['a list of models', { ...masterCaller, principal: 'key_1', key: { ...key, models: ['sonnet'], isNarrow: true } }],
  ['a budget', { ...masterCaller, principal: 'key_1', key: { ...key, isLimited: true, isNarrow: true } }],
] as const
for (const [what, caller] of narrow) {
  test(`S08, M1: an admin key with ${what} can read model settings but not change them`, async () => {
    const { id } = await added({ model: 'ollama/x' })
    const { call: ask, inForce } = start({ caller })
    await inForce.refresh()
    assert.equal((await ask('GET /api/providers')).status, 200)
    assert.equal((await ask(`GET /api/models/${id}`)).status, 200)
    for (const [line, body] of [
      ['PUT /api/providers/openai', { api_key: canary }],
      ['DELETE /api/providers/openai', {}],
      ['POST /api/models', { model_name: 'sonnet-2', params: { model: 'ollama/x' } }],
      [`PATCH /api/models/${id}`, { params: { weight: 2 } }],
      [`DELETE /api/models/${id}`, {}],
    ] as const) {
      const answer = await ask(line, body)
      assert.equal(answer.status, 403, line)
      assert.match(messageOf(answer), /^this key has an owner, a list of models or a limit; use/)
    }
  })
}

test('an admin key without limits can change model settings like the master key', async () => {
  const { call: ask } = start({ caller: { ...masterCaller, principal: 'key_1', key } })
  const made = await ask('POST /api/models', { model_name: 'by-an-admin', params: { model: 'ollama/x' } })
  assert.deepEqual([made.status, made.body.created_by], [201, 'key_1'])
})

test('POST /api/models accepts base_model and capabilities, and returns them unchanged', async () => {
  const params = {
    model: 'ollama/ours',
    base_model: 'anthropic/claude-haiku-4-5',
    capabilities: { vision: false, max_output_tokens: 9_000 },
  }
  const { status, body } = await call('POST /api/models', { model_name: 'based', params })
  assert.deepEqual([status, body.params], [201, params])
  const deployment = served.now.find(({ id }) => id === body.id)
  assert.deepEqual(deployment?.baseModel, { provider: 'anthropic', model: 'claude-haiku-4-5' })
  assert.deepEqual(deployment?.capabilities, { vision: false, maxOutput: 9_000 })
  const wrong = await call('POST /api/models', { model_name: 'w', params: { ...params, base_model: 'gpt-*' } })
  assert.equal(wrong.status, 400)
  assert.equal(messageOf(wrong), 'params.base_model must name one model without *')
})
