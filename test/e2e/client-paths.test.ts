import assert from 'node:assert/strict'
import { test } from 'node:test'
import OpenAI, { AzureOpenAI } from 'openai'
import { makeKey } from '../support/keys/virtual-keys.ts'
import { send } from '../support/service/send.ts'
import { saying, startScriptedService } from '../support/upstream/scripted-service.ts'

const { service, upstream } = await startScriptedService({ models: ['m', 'team/large', 'other'] })
const said = (content: string) => [{ role: 'user' as const, content }]
const hello = saying({ text: 'Hello.' })
const contents = [{ role: 'user', parts: [{ text: hello }] }]
const sentModel = () => upstream.requests.at(-1)?.body['model']

const bodies: readonly (readonly [path: string, body: object])[] = [
  ['/chat/completions', { model: 'm', messages: said(hello) }],
  ['/responses', { model: 'm', input: hello }],
  ['/messages', { model: 'm', max_tokens: 100, messages: said(hello) }],
  ['/messages/count_tokens', { model: 'm', messages: said(hello) }],
]
for (const [path, body] of bodies) {
  test(`P1: POST ${path} answers as /v1${path} does`, async () => {
    const [short, long] = await Promise.all([
      send(service, `POST ${path}`, { body }),
      send(service, `POST /v1${path}`, { body }),
    ])
    assert.deepEqual([short.status, Object.keys(short.json())], [200, Object.keys(long.json())], short.text)
    const [wrong, wrongThere] = await Promise.all([
      send(service, `POST ${path}`, { body: { ...body, model: 7 } }),
      send(service, `POST /v1${path}`, { body: { ...body, model: 7 } }),
    ])
    const anyId = ({ text }: { text: string }) => text.replaceAll(/req_\w+/g, '')
    assert.deepEqual([wrong.status, anyId(wrong)], [400, anyId(wrongThere)])
  })
}

test('P1: embeddings and models have paths without a version too', async () => {
  const short = await send(service, 'POST /embeddings', { body: { model: 'm', input: 'x' } })
  const long = await send(service, 'POST /v1/embeddings', { body: { model: 'm', input: 'x' } })
  assert.deepEqual([short.status, short.text], [long.status, long.text])
  for (const path of ['/models', '/models/m', '/models/team/large', '/models/team%2Flarge']) {
    const [plain, versioned] = await Promise.all([send(service, `GET ${path}`), send(service, `GET /v1${path}`)])
    assert.deepEqual([plain.status, plain.json()], [200, versioned.json()], path)
  }
})

test('P1: an OpenAI client whose base address has no version makes calls', async () => {
  const client = new OpenAI({ baseURL: service.url, apiKey: service.key, maxRetries: 0 })
  const answer = await client.chat.completions.create({ model: 'm', messages: said(hello) })
  assert.equal(answer.choices[0]?.message.content, 'Hello.')
  assert.ok((await client.models.list()).data.some(({ id }) => id === 'm'))
})

const azure = (apiKey = service.key) =>
  new AzureOpenAI({ endpoint: service.url, apiKey, apiVersion: '2024-10-21', maxRetries: 0 })

test('P1: Azure’s client calls models by their deployment, with its key, in one piece and streamed', async () => {
  for (const model of ['m', 'team/large']) {
    const answer = await azure().chat.completions.create({ model, messages: said(hello) })
    assert.equal(answer.choices[0]?.message.content, 'Hello.')
    assert.equal(sentModel(), model)
    let text = ''
    const stream = await azure().chat.completions.create({ model, messages: said(hello), stream: true })
    for await (const { choices } of stream) text += choices[0]?.delta.content ?? ''
    assert.equal(text, 'Hello.')
  }
  await assert.rejects(azure('sk-wrong').chat.completions.create({ model: 'm', messages: said(hello) }), {
    status: 401,
  })
})

test('P1: the deployment in the path decides, whatever model the body names, and a key’s models hold for it', async () => {
  const path = '/openai/deployments/m/chat/completions?api-version=2024-10-21'
  for (const body of [
    { messages: said(hello) },
    { model: null, messages: said(hello) },
    { model: 'other', messages: said(hello) },
  ]) {
    const answer = await send(service, `POST ${path}`, { body })
    assert.equal(answer.status, 200, answer.text)
    assert.equal(sentModel(), 'm')
  }
  const { key } = await makeKey(service, { models: ['other'] })
  const stranger = { url: service.url, key }
  const refused = await send(stranger, `POST ${path}`, { body: { model: 'other', messages: said(hello) } })
  assert.deepEqual([refused.status, refused.json<{ error: { type: string } }>().error.type], [403, 'permission_error'])
  const doubled = `{"model":"other","model":"m","messages":${JSON.stringify(said(hello))}}`
  assert.equal((await send(service, `POST ${path}`, { body: doubled })).status, 400)
  assert.equal((await send(service, 'POST /openai/deployments/m/responses', { body: { input: hello } })).status, 200)
})

test('P1: the header api-key is a credential on Azure’s paths alone, and other credentials win over it', async () => {
  const line = 'POST /openai/deployments/m/chat/completions?api-version=2024-10-21'
  const body = { messages: said(hello) }
  const statusOf = async (headers: Record<string, string>, sentLine = line) =>
    (await send({ url: service.url }, sentLine, { body, headers })).status
  const { key } = service
  assert.equal(await statusOf({ 'api-key': key }), 200)
  assert.equal(await statusOf({ 'api-key': 'sk-wrong' }), 401)
  assert.equal(await statusOf({ 'api-key': key, authorization: 'Bearer sk-wrong' }), 401)
  assert.equal(await statusOf({ 'api-key': key, 'x-api-key': 'sk-wrong' }), 401)
  assert.equal(await statusOf({ 'api-key': key }, 'POST /v1/chat/completions'), 401)
  assert.equal(await statusOf({ 'api-key': key }, 'POST /session'), 401)
})

test('P1: Gemini’s methods are found behind ids with slashes, with and without models/', async () => {
  for (const path of ['models/team/large', 'team/large', 'models/team%2Flarge', 'm']) {
    const answer = await send(service, `POST /v1beta/${path}:generateContent`, { body: { contents } })
    assert.equal(answer.status, 200, `${path}: ${answer.text}`)
    assert.equal(sentModel(), path === 'm' ? 'm' : 'team/large')
    const stream = await send(service, `POST /v1beta/${path}:streamGenerateContent?alt=sse`, { body: { contents } })
    assert.match(stream.text, /"text":"Hello\."/)
    const count = await send(service, `POST /v1beta/${path}:countTokens`, { body: { contents } })
    assert.equal(count.status, 200, count.text)
  }
  assert.equal((await send(service, 'POST /v1beta/models', { body: {} })).status, 405)
})

test('P1: load balancers and clients that probe with HEAD get an answer without a key and without a body', async () => {
  const stranger = { url: service.url }
  for (const path of ['/health', '/health/live', '/health/liveliness', '/health/ready', '/health/readiness', '/docs']) {
    const { status, text } = await send(stranger, `HEAD ${path}`)
    assert.deepEqual([status, text], [200, ''], path)
  }
  const home = await send(stranger, 'HEAD /')
  assert.deepEqual([home.status, home.headers.location, home.text], [302, '/docs', ''], 'without the console')
  for (const path of ['/health/liveliness', '/health/readiness'])
    assert.equal((await send(stranger, `GET ${path}`)).json()['status'], 'ok')
})

test('P2: a key reads the info of the models that it may use, and of no other', async () => {
  const { key } = await makeKey(service, { models: ['team/large'] })
  for (const path of ['/v1/model/info', '/model/info']) {
    const { data } = (await send({ url: service.url, key }, `GET ${path}`)).json<{ data: { model_name: string }[] }>()
    assert.deepEqual(
      data.map(({ model_name }) => model_name),
      ['team/large'],
    )
  }
  assert.equal((await send({ url: service.url }, 'GET /model/info')).status, 401)
})
