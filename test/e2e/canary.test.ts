import assert from 'node:assert/strict'
import { createHmac, generateKeyPairSync, randomBytes } from 'node:crypto'
import { after, test } from 'node:test'
import { allRoutes } from '../../src/contract/api.ts'
import { endsRun } from '../../src/contract/events.ts'
import type { Session } from '../../src/contract/sessions.ts'
import { embeddedUrl } from '../../src/server/db/embedded-postgres.ts'
import { type AllowedPlace, type Canary, plantCanary, scan } from '../support/secrets/canaries.ts'
import { filePlaces, processPlaces, tablePlaces } from '../support/secrets/canary-places.ts'
import { temporaryFolder } from '../support/service/data-folder.ts'
import { type Sent, send } from '../support/service/send.ts'
import { startService } from '../support/service/service.ts'
import { followEvents } from '../support/sessions/event-tail.ts'
import { jsonAnswer, startByteServer } from '../support/upstream/byte-server.ts'
import { bedrockConverse } from '../support/upstream/dialects/bedrock-converse.ts'
import { gemini } from '../support/upstream/dialects/gemini.ts'
import { openaiChat } from '../support/upstream/dialects/openai-chat.ts'
import { openaiResponses } from '../support/upstream/dialects/openai-responses.ts'
import { echoingScript, echoModes } from '../support/upstream/echoing-script.ts'
import { startScriptedUpstream } from '../support/upstream/scripted-upstream.ts'

const canaries: Canary[] = []
const plant = (name: string, around: (core: string) => string): string => {
  const { canary, secret } = plantCanary(name, around)
  canaries.push(canary)
  return secret
}
/** A secret that the service has made: nothing but the given part of it may be shown. */
const keep = (name: string, secret: string): string => {
  canaries.push({ name, core: Buffer.from(secret) })
  return secret
}

const encryptionKey = randomBytes(32)
canaries.push({ name: 'encryption key', core: encryptionKey })
const { privateKey } = generateKeyPairSync('rsa', {
  modulusLength: 2048,
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  publicKeyEncoding: { type: 'spki', format: 'pem' },
})
keep('service account', privateKey.split('\n')[3] ?? '')
const master = plant('master key', core => `sk-master-${core}-end`)
const configured = {
  anthropic: plant('configured key', core => `sk-ant-${core}+/=`),
  header: plant('configured header', core => `Token ${core}`),
  chat: plant('configured key of chat', core => `sk-${core}_x`),
  responses: plant('configured key of responses', core => `sk-proj-${core}`),
  gemini: plant('configured key of gemini', core => `AIza${core}`),
  awsSecret: plant('configured aws secret', core => `${core}/+A`),
  awsToken: plant('configured aws token', core => `FwoG${core}==`),
  bedrock: plant('configured key of bedrock', core => `bedrock-${core}`),
}

const upstreams = await Promise.all(
  [undefined, openaiChat, openaiResponses, gemini, bedrockConverse].map(dialect =>
    startScriptedUpstream({ script: echoingScript, ...(dialect && { dialect }) }),
  ),
)
/** Rejects each caller, and repeats their credential in every writing. */
const echoing = await startByteServer((socket, { head }) => {
  const [, key = ''] = /^(?:authorization: \w+|x-api-key:) (.*)$/im.exec(head) ?? []
  const message = [key, Buffer.from(key, 'base64').toString(), Buffer.from(key).toString('base64')].join(' ')
  // As Cursor and Anthropic report it, and as opencode does.
  const body = { error: { code: 'unauthorized', message }, name: 'UnknownError', data: { message } }
  socket.end(jsonAnswer(JSON.stringify(body), '401 Unauthorized'))
})
after(() => Promise.all([...upstreams, echoing].map(upstream => upstream.stop())))
const [anthropic, chat, responses, google, aws] = upstreams.map(({ url }) => url)

const prices = { input_cost_per_token: 0.000001, output_cost_per_token: 0.000001 }
const model = (name: string, params: object) => ({ model_name: name, params: { ...prices, ...params } })
const config = {
  model_list: [
    model('plain', { model: 'anthropic/m', api_base: anthropic, api_key: configured.anthropic }),
    model('headed', { model: 'anthropic/m', api_base: anthropic, headers: { 'x-team-token': configured.header } }),
    model('chat', { model: 'openai-compatible/m', api_base: chat, api_key: configured.chat }),
    model('responses', { model: 'openai/m', api_base: responses, api_key: configured.responses }),
    model('gemini', { model: 'gemini/m', api_base: google, api_key: configured.gemini }),
    model('converse', { model: 'bedrock/m', api_base: aws, aws_region_name: 'x', api_key: configured.bedrock }),
    model('signed', {
      model: 'bedrock/m',
      api_base: aws,
      aws_region_name: 'eu-central-1',
      aws_access_key_id: 'AKIAEXAMPLE',
      aws_secret_access_key: configured.awsSecret,
      aws_session_token: configured.awsToken,
    }),
    model('google', {
      model: 'vertex/m',
      vertex_project: 'p',
      vertex_credentials: JSON.stringify({
        type: 'service_account',
        project_id: 'p',
        client_email: 'a@example.test',
        private_key: privateKey,
      }),
    }),
  ],
  outbound: { allow: [...upstreams.map(({ port }) => `127.0.0.1:${port}`), echoing.host] },
  limits: { max_loop_delay_ms: 10_000 },
  router: { retries: 0, cooldown: { failures: 1_000 } },
}

const dataDir = temporaryFolder()
const service = await startService({
  databaseUrl: 'embedded',
  dataDir,
  config: JSON.stringify(config),
  key: master,
  env: { DATABASE_URL: undefined, LOG_LEVEL: 'trace', SWITCHYARD_ENCRYPTION_KEY: encryptionKey.toString('base64') },
  readyMs: 60_000,
})
after(() => service.stop())

/** Every answer of the service, by what was asked. */
const answers: [line: string, content: string][] = []

async function ask(line: string, sent: Sent & { readonly key?: string } = {}) {
  const { key = master, ...rest } = sent
  const answer = await send({ url: service.url, key }, line, rest)
  // Its own request is no answer: a query that holds a key is left out of the place's name.
  answers.push([`answer to ${line.split('?')[0]}`, JSON.stringify(answer.headers) + answer.text])
  return answer
}

const refusedWith = (problem: string) => ({
  model: 'plain',
  max_tokens: 10,
  messages: [{ role: 'user', content: problem }],
})

/** All that calls a model, and has its upstream echo the credential. */
async function callModels(key: string): Promise<void> {
  const names = config.model_list.map(({ model_name }) => model_name).filter(name => name !== 'google')
  for (const name of [...names, 'added', 'openrouter/some']) {
    for (const mode of ['ok', ...echoModes]) {
      for (const stream of [true, false]) {
        const body = { ...refusedWith(`MODE:${mode}`), model: name, stream }
        await ask('POST /v1/messages', { key, body })
      }
      await ask('POST /v1/chat/completions', { key, body: { ...refusedWith(`MODE:${mode}`), model: name } })
    }
    await ask('POST /v1/responses', { key, body: { model: name, input: 'MODE:status500' } })
    await ask('POST /v1/messages/count_tokens', { key, body: { ...refusedWith('x'), model: name } })
  }
}

/** Sessions whose model fails with its credential in its words, and whose tools read what they can reach. */
async function runSessions(key: string): Promise<string> {
  const agent = { name: 'Nosy', owner_id: 'team', system: 'x', tools: {}, model: 'plain' }
  const { id: agent_id } = (await ask('POST /api/agents', { key, body: agent })).json<{ id: string }>()
  const { id } = (await ask('POST /session', { key, body: { agent_id } })).json<Session>()
  const look = `env; cat /proc/*/environ /proc/*/cmdline ${dataDir}/* ${dataDir}/../*/encryption.key; ls -a / ~ ..`
  const prompt = (text: string) => ({ model: { modelID: 'plain' }, parts: [{ type: 'text', text }] })
  for (const text of ['MODE:status400', 'MODE:status401', 'MODE:said', `MODE:tool:${look}`]) {
    const answer = await ask(`POST /session/${id}/message`, { key, body: prompt(text) })
    assert.equal(answer.status, 200, answer.text)
  }
  // These are tried again for minutes.
  for (const mode of ['status500', 'html', 'nojson', 'early', 'late']) {
    const tail = await followEvents({ url: service.url, key }, id, { query: 'from=tail' })
    await ask(`POST /session/${id}/prompt_async`, { key, body: prompt(`MODE:${mode}`) })
    await tail.event('session.error')
    await ask(`POST /session/${id}/abort`, { key })
    await tail.event(endsRun)
    tail.close()
    answers.push([`stream after ${mode}`, tail.text])
  }
  const made = await ask(`POST /v1/sessions/${id}/events/tickets`, { key })
  const ticket = keep('stream ticket', made.json<{ ticket: string }>().ticket)
  for (const query of [`ticket=${ticket}`, `key=${key}`, `key=${master}`]) {
    const tail = await followEvents({ url: service.url }, id, { query })
    await tail.event(endsRun)
    tail.close()
    answers.push(['stream opened by its query', JSON.stringify(tail.headers) + tail.text])
  }
  assert.equal((await ask(`GET /v1/sessions/${id}/events/stream?ticket=${ticket}`, { key: '' })).status, 401)
  return id
}

/** Secrets in the wrong places of requests: what is rejected must not be repeated. */
async function sendNonsense(): Promise<void> {
  const vaultValue = plant('refused vault value', core => `"${core}\n`)
  const wrongKey = plant('wrong key', core => `sk-${core}`)
  for (const body of [
    { key: 'bad name!', value: vaultValue },
    { key: 'TOO_LONG', value: vaultValue.repeat(2_000) },
    { key: 'WRONG', value: { nested: vaultValue } },
    { key: 'SCOPED', value: vaultValue, scope: vaultValue },
    `{"key":"CUT","value":"${vaultValue}`,
  ]) {
    assert.equal((await ask('POST /api/vault', { body })).status, 400)
  }
  for (const body of [
    { api_key: [wrongKey] },
    { api_base: `ftp://${wrongKey}@x` },
    { api_key: wrongKey, api_base: 1 },
  ]) {
    assert.equal((await ask('PUT /api/providers/azure', { body })).status, 400)
  }
  for (const body of [
    { api_key: [wrongKey] },
    { api_key: `${wrongKey}\n` },
    { api_key: wrongKey, api_base: 'ftp://x' },
  ]) {
    assert.equal((await ask('PUT /api/agent-runtimes/cursor/credentials', { body })).status, 400)
  }
  const harness = { alias: 'x', api_spec: 'acp', api_base: `https://${wrongKey}@x.example`, api_key: wrongKey }
  assert.equal((await ask('POST /api/runtime-harnesses', { body: harness })).status, 400)
  await ask('POST /api/models', { body: { model_name: 'x', params: { model: 'nobody/x', api_key: wrongKey } } })
  await ask('GET /api/agents', { key: wrongKey })
  await ask('GET /api/agents', { headers: { 'x-api-key': wrongKey } })
  await ask('GET /api/agents', { headers: { authorization: `Basic ${Buffer.from(wrongKey).toString('base64')}` } })
  await ask(`GET /v1/sessions/ses_x/events/stream?key=${wrongKey}`, { key: '' })
  await ask(`GET /v1/sessions/ses_x/events/stream?ticket=${wrongKey}`, { key: '' })
  await ask(`GET /api/agents?key=${wrongKey}`)
  await ask(`GET /no-such-path?key=${wrongKey}`)
}

/** Deliveries with right and wrong tokens, signed and not, replayed, and refused for all that can be wrong. */
async function sendWebhooks(): Promise<void> {
  const token = plant('webhook token', core => `hook-${core}`)
  const signing = plant('webhook signing secret', core => `sign-${core}`)
  await ask('POST /api/vault', { body: { key: 'HOOK', value: token } })
  await ask('POST /api/vault', { body: { key: 'SIGNING', value: signing } })
  const signature = { preset: 'github', secret_key: 'SIGNING' }
  const webhook = { secret_key: 'HOOK', signature, events: [{ header: 'authorization' }] }
  const agent = { name: 'Hooked', owner_id: 'team', model: 'plain', config: { webhook } }
  const { id } = (await ask('POST /api/agents', { body: agent })).json<{ id: string }>()
  const body = '{"text":"MODE:status400"}'
  const signed = `sha256=${createHmac('sha256', signing).update(body).digest('hex')}`
  keep('webhook signature', signed.slice(10, 50))
  const line = `POST /api/agents/${id}/webhook`
  const headers = { 'x-hub-signature-256': signed, cookie: token, 'webhook-id': 'canary' }
  const answer = await ask(line, { key: token, headers, body })
  assert.equal(answer.status, 202, answer.text)
  assert.match(answer.text, /ses_/)
  for (const sent of [{ body: '{' }, { body: '{}' }, { body: 'x', headers: { 'content-type': 'text/plain' } }])
    await ask(line, { key: token, ...sent })
  await ask(line, { key: plant('wrong webhook token', core => core), headers, body })
  await ask(line, { headers, body })
  const logged = (await ask('GET /api/deliveries')).json<{ deliveries: { id: string }[] }>().deliveries
  for (const { id: deliveryId } of logged) {
    await ask(`GET /api/deliveries/${deliveryId}`)
    await ask(`POST /api/deliveries/${deliveryId}/replay`)
  }
}

/** Push notification configs of a task: stored, listed, and refused. The receiver cannot be reached. */
async function sendToAgent(): Promise<void> {
  const agent = { name: 'Called', owner_id: 'team', model: 'plain', config: { a2a: { enabled: true } } }
  const { id } = (await ask('POST /api/agents', { body: agent })).json<{ id: string }>()
  const headers = { 'a2a-version': '1.0', 'content-type': 'application/a2a+json' }
  const config = {
    url: 'https://push.invalid/',
    token: plant('token of a push notification config', core => `push-${core}`),
    authentication: {
      scheme: 'Bearer',
      credentials: plant('credentials of a push notification config', core => core),
    },
  }
  const message = { messageId: 'canary', role: 'ROLE_USER', parts: [{ text: 'Hello' }] }
  const body = JSON.stringify({ message, configuration: { taskPushNotificationConfig: config } })
  const sent = await ask(`POST /a2a/${id}/message:send`, { headers, body })
  const { task } = sent.json<{ task: { id: string } }>()
  const path = `/a2a/${id}/tasks/${task.id}/pushNotificationConfigs`
  for (const refused of [config, { ...config, url: 'http://10.0.0.1/' }, { ...config, token: `${config.token}\n` }])
    await ask(`POST ${path}`, { headers, body: JSON.stringify(refused) })
  await ask(`GET ${path}`, { headers })
  await ask(`GET ${path}/${task.id}`, { headers })
}

/** Foreign runtimes with keys, which refuse them with a page that repeats them. */
async function useRuntimes(): Promise<void> {
  const keyOf = (name: string) => plant(`stored key of ${name}`, core => `${name}-${core}`)
  for (const id of ['cursor', 'claude_managed_agents']) {
    const body = { api_key: keyOf(id), api_base: echoing.url }
    assert.equal((await ask(`PUT /api/agent-runtimes/${id}/credentials`, { body })).status, 200)
  }
  const harness = { alias: 'oc', api_spec: 'opencode', api_base: echoing.url, api_key: keyOf('opencode') }
  assert.equal((await ask('POST /api/runtime-harnesses', { body: harness })).status, 200)
  for (const runtime of ['cursor', 'claude_managed_agents', 'oc']) {
    const tested = (await ask(`POST /api/agent-runtimes/${runtime}/test`)).json<{ error: string }>()
    assert.match(tested.error, /\[secret\]/, `${runtime} repeats nothing`)
    await ask(`GET /api/agent-runtimes/${runtime}/models`)
    await ask(`GET /v1/models?runtime=${runtime}`)
    const { id } = (await ask('POST /session', { body: { runtime } })).json<Session>()
    const tail = await followEvents({ url: service.url, key: master }, id, { query: 'from=tail' })
    const body = { model: { modelID: 'plain' }, parts: [{ type: 'text', text: 'Look around.' }] }
    await ask(`POST /session/${id}/prompt_async`, { body })
    await tail.event(endsRun)
    tail.close()
    answers.push([`stream of ${runtime}`, tail.text])
  }
}

/** Every route that only reads, with ids that exist where they are known. */
async function readEverything(sessionId: string, key: string): Promise<void> {
  for (const { method, path, produces } of allRoutes) {
    if (method !== 'GET' || produces === 'text/event-stream') continue
    const line = `GET ${path.replace('{session_id}', sessionId).replaceAll(/\{\w+\}/g, 'plain')}`
    await ask(line)
    await ask(line, { key })
  }
  for (const line of ['/api/audit?format=csv', '/api/usage?format=csv&group_by=key', '/api/usage/calls?format=csv']) {
    await ask(`GET ${line}`)
  }
}

const allowed: readonly AllowedPlace[] = [
  { canary: /^virtual key/, place: /^answer to POST \/api\/keys/, reason: 'create and rotate show a key once' },
  { canary: /^stream ticket$/, place: /^answer to POST .*\/tickets$/, reason: 'it is given to who asked for it' },
  { canary: /^configured|^service account$/, place: /^file test-config\.yaml$/, reason: "the operator's own file" },
  {
    canary: /^(master|encryption) key$/,
    place: /^environment of the service$/,
    reason: 'that is where the operator gave it',
  },
]

test('M8, S17, S18, S32, S40, S41: no secret is anywhere but where it must be, whatever upstreams echo and tools read', async () => {
  const provider = plant('stored key of a provider', core => `sk-or-${core}`)
  await ask('PUT /api/providers/openrouter', { body: { api_key: provider, api_base: anthropic } })
  await ask('POST /api/providers/openrouter/test')
  const added = plant('stored key of a model', core => `sk-add-${core}`)
  const addedHeader = plant('stored header of a model', core => core)
  const params = { model: 'anthropic/m', api_base: anthropic, api_key: added, headers: { 'x-more': addedHeader } }
  assert.equal((await ask('POST /api/models', { body: { model_name: 'added', params } })).status, 201)
  const vaultValue = plant('vault value', core => `pass"word\\${core}\n`)
  assert.equal((await ask('POST /api/vault', { body: { key: 'TOKEN', value: vaultValue } })).status, 200)

  const mcp = { server_name: 'canary', url: 'https://mcp.invalid/', auth_type: 'bearer_token' }
  const credentials = { auth_value: plant('credential of an MCP server', core => `mcp-${core}`) }
  const static_headers = { 'x-more': plant('header of an MCP server', core => core) }
  assert.equal((await ask('POST /v1/mcp/server', { body: { ...mcp, credentials, static_headers } })).status, 201)
  const { id: vault } = (await ask('POST /v1/vaults', { body: { display_name: 'Canary' } })).json<{ id: string }>()
  const token = plant('credential of a vault', core => `vault-${core}`)
  const auth = { type: 'static_bearer', mcp_server_url: 'https://mcp.invalid/', token }
  assert.equal((await ask(`POST /v1/vaults/${vault}/credentials`, { body: { auth } })).status, 200)
  await ask(`GET /v1/vaults/${vault}/credentials`)
  await ask('POST /v1/mcp/server/canary/test')
  await ask('POST /mcp/canary', { body: { jsonrpc: '2.0', id: 1, method: 'ping' } })

  await sendWebhooks()
  await sendToAgent()
  const once = { headers: { 'idempotency-key': 'canary' }, body: { label: 'canary', owner_id: 'team', max_budget: 5 } }
  const made = (await ask('POST /api/keys', once)).json<{ id: string; key: string; prefix: string }>()
  await ask('POST /api/keys', once)
  keep('virtual key', made.key.slice(made.prefix.length, -4))
  const rotated = (await ask(`POST /api/keys/${made.id}/rotate`, { body: { grace: '1h' } })).json<{ key: string }>()
  keep('virtual key, rotated', rotated.key.slice(made.prefix.length, -4))

  await callModels(rotated.key)
  await useRuntimes()
  const sessionId = await runSessions(made.key)
  await sendNonsense()
  await readEverything(sessionId, rotated.key)

  const echoes = upstreams.flatMap(({ requests }) => requests)
  for (const name of ['anthropic', 'header', 'chat', 'responses', 'gemini', 'awsToken', 'bedrock'] as const) {
    const isEchoed = echoes.some(({ headers }) => JSON.stringify(headers).includes(configured[name].slice(8, -4)))
    assert.ok(isEchoed, `no upstream got ${name}, so none could echo it`)
  }
  const { tables, ownSecrets } = await tablePlaces(embeddedUrl(dataDir) ?? '', encryptionKey)
  canaries.push(...ownSecrets)
  const places = [...answers, ...tables, ...processPlaces(service.pid)]
  await service.stop()
  const { findings, unused } = scan([...places, ...filePlaces(dataDir), ['log', service.logs()]], canaries, allowed)
  assert.deepEqual(findings, [])
  assert.deepEqual(unused, [], 'an allowance that nothing needs is a hole')
})
