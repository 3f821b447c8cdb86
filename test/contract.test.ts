import assert from 'node:assert/strict'
import { test } from 'node:test'
import { allRoutes, apiVersion, everyPath } from '../src/contract/api.ts'
import { type Access, type Route, successStatus } from '../src/contract/route.ts'
import { spellingsOf } from './support/service/path-spellings.ts'
import { open, type Sent, send, type Target } from './support/service/send.ts'
import { startService } from './support/service/service.ts'

const service = await startService()
const stranger = { url: service.url }
const unauthorized = '{"error":{"type":"gateway_error","message":"unauthorized"}}'
const wrongKey = 'sk-test-wrong-key-0123456789abcdef'

/** The route as a request line, with an id that nothing has in the place of each parameter. */
const lineOf = ({ method, path }: Pick<Route, 'method' | 'path'>): string =>
  `${method} ${path.replaceAll('{version}', '1').replaceAll(/\{\w+\}/g, 'nothing_1')}`

const needKeys: readonly Access[] = ['key', 'key-or-query', 'google-key', 'admin', 'key-unless-public']
const keyed = everyPath.filter(({ access }) => needKeys.includes(access))
const publicRoutes = everyPath.filter(({ access }) => access === 'public')
const stream = 'GET /v1/sessions/nothing_1/events/stream'

/** Status and text; of a stream, which may have no end, only its head. */
async function ask(target: Target, line: string, sent: Sent): Promise<{ status: number; text: string }> {
  const response = await open(target, line, sent)
  const status = response.statusCode ?? 0
  const chunks: Buffer[] = []
  if (String(response.headers['content-type']).startsWith('text/event-stream')) response.destroy()
  else for await (const chunk of response) chunks.push(chunk as Buffer)
  return { status, text: Buffer.concat(chunks).toString() }
}

for (const route of keyed) {
  test(`S07: ${lineOf(route)} answers 401 with the same body to a caller without a key, or with a wrong one`, async () => {
    const wrong = [{ authorization: `Bearer ${wrongKey}` }, { 'x-api-key': wrongKey }, { 'x-goog-api-key': wrongKey }]
    for (const headers of [{}, ...wrong]) {
      const answer = await send(stranger, lineOf(route), { headers })
      assert.equal(answer.status, 401)
      assert.equal(answer.text, unauthorized)
      assert.match(answer.headers['content-type'] ?? '', /^application\/json/)
      assert.match(String(answer.headers['request-id']), /^req_/)
    }
  })
}

test('S01: the master key opens every route, as Bearer in any case and as x-api-key', async () => {
  const { key } = service
  const spellings = [
    { authorization: `Bearer ${key}` },
    { authorization: `bearer ${key}` },
    { Authorization: `BEARER  ${key}` },
    { 'x-api-key': key },
    { authorization: 'Basic b3BlbmNvZGU6eA==', 'x-api-key': key },
  ]
  for (const [at, route] of keyed.entries()) {
    const headers = spellings[at % spellings.length] ?? {}
    assert.notEqual((await ask(stranger, lineOf(route), { headers })).status, 401, route.id)
  }
  for (const headers of spellings) assert.equal((await send(stranger, 'GET /api/agents', { headers })).status, 200)
})

const refused: readonly (readonly [guarantee: string, headers: Record<string, string | string[]>])[] = [
  ['a wrong Bearer wins over a right x-api-key', { authorization: `Bearer ${wrongKey}`, 'x-api-key': service.key }],
  ['an empty Bearer wins over a right x-api-key', { authorization: 'Bearer', 'x-api-key': service.key }],
  ['two Authorization headers', { authorization: [`Bearer ${service.key}`, `Bearer ${service.key}`] }],
  ['two Authorization headers and x-api-key', { authorization: ['Basic x', 'Basic y'], 'x-api-key': service.key }],
  ['another scheme alone', { authorization: `Basic ${service.key}` }],
  ['the key with more behind it', { 'x-api-key': `${service.key}x` }],
  ['the first part of the key', { 'x-api-key': service.key.slice(0, -1) }],
  ['the key in quotes', { 'x-api-key': `"${service.key}"` }],
]
for (const [guarantee, headers] of refused) {
  test(`S01: 401: ${guarantee}`, async () => {
    const answer = await send(stranger, 'GET /api/agents', { headers })
    assert.equal(answer.status, 401)
    assert.equal(answer.text, unauthorized)
  })
}

test('S45: ?key= is read on the event stream and by Google’s routes alone, and a header wins over it', async () => {
  assert.equal((await send(stranger, `${stream}?key=${service.key}`)).status, 404)
  assert.equal((await send(stranger, `${stream}?key=${wrongKey}`)).status, 401)
  const headers = { authorization: `Bearer ${wrongKey}` }
  assert.equal((await send(stranger, `${stream}?key=${service.key}`, { headers })).status, 401)
  for (const route of keyed.filter(({ access }) => access !== 'key-or-query')) {
    const isGoogles = route.access === 'google-key'
    const answer = await send(stranger, `${lineOf(route)}?key=${service.key}`)
    assert.equal(answer.status !== 401, isGoogles, `${route.id} and ?key=`)
    const named = await send(stranger, lineOf(route), { headers: { 'x-goog-api-key': service.key } })
    assert.equal(named.status !== 401, isGoogles, `${route.id} and x-goog-api-key`)
  }
})

test('S07: public routes answer without a key', async () => {
  assert.deepEqual(
    publicRoutes.map(({ path }) => path),
    [
      '/',
      '/console/{path}',
      '/console',
      '/health',
      '/health/live',
      '/health/liveliness',
      '/health/ready',
      '/health/readiness',
      '/openapi.json',
      '/docs',
      '/docs/reference.js',
      '/api/sign-in',
      '/api/sign-in/sso',
      '/oauth/sign-in/callback',
      '/api/sign-in',
      '/api/sign-in',
      '/oauth/mcp/callback',
      '/oauth/mcp/callback',
      '/approvals/{approval_id}',
      '/approvals/{approval_id}',
    ],
  )
  // Signed links have a token in place of a key, callbacks of logins have their state, and signing in has the key in its body.
  const isOpen = ({ path }: { readonly path: string }) => !/\{|^\/oauth\/|^\/api\/sign-in/.test(path)
  for (const route of publicRoutes.filter(isOpen)) {
    const answer = await send(stranger, lineOf(route))
    // Without the console its addresses redirect.
    const isOfConsole = answer.status === 302 && route.responses[302] === null
    assert.ok(isOfConsole || answer.status === successStatus(route), route.id)
    assert.match(String(answer.headers['request-id']), /^req_/)
  }
})

test('a caller without access is rejected before the body is read', async () => {
  const body = 'x'.repeat(64 * 1024)
  const headers = { 'content-type': 'text/plain', 'x-api-key': wrongKey }
  assert.equal((await send(stranger, 'POST /api/agents', { headers, body })).status, 401)
  assert.equal((await send(stranger, 'POST /session', { headers: { 'x-api-key': wrongKey }, body: '{' })).status, 401)
})

test('S07: every route is in the OpenAPI 3.1 document with its statuses, and nothing else is', async () => {
  const document = (await send(stranger, 'GET /openapi.json')).json<{
    openapi: string
    info: { version: string }
    paths: Record<
      string,
      Record<string, { operationId: string; description?: string; responses: Record<string, unknown> }>
    >
  }>()
  assert.equal(document.openapi, '3.1.0')
  assert.equal(document.info.version, '0.1.0')
  assert.equal(apiVersion, '0.1.0')
  for (const { id, method, path, aliases = [], responses, access, hasCsv = false } of allRoutes) {
    const operation = document.paths[path]?.[method.toLowerCase()]
    assert.equal(JSON.stringify(operation?.responses ?? {}).includes('"text/csv"'), hasCsv, id)
    assert.equal(operation?.operationId, id)
    for (const alias of aliases) assert.ok(operation?.description?.includes(`\`${alias}\``), `${id} lacks ${alias}`)
    const statuses = Object.keys(operation?.responses ?? {})
    for (const status of Object.keys(responses)) assert.ok(statuses.includes(status), `${id} lacks ${status}`)
    if (access !== 'public') assert.ok(statuses.includes('401'), `${id} lacks 401`)
  }
  const operations = Object.values(document.paths).flatMap(methods => Object.values(methods))
  assert.equal(operations.length, allRoutes.length)
  assert.equal(new Set(operations.map(({ operationId }) => operationId)).size, allRoutes.length)
})

test('P1, S07: every path of every route is bound: with a key none answers "no such path" or "wrong method"', async () => {
  for (const route of everyPath) {
    const answer = await ask(service, lineOf(route), route.body ? { body: {} } : {})
    assert.notEqual(answer.status, 405, route.id)
    assert.ok(answer.status < 500, `${route.id} answered ${answer.status}`)
    assert.doesNotMatch(answer.text, /no such path/, route.path)
  }
})

test('an unknown path is 404 with a key and 401 without one', async () => {
  for (const prefix of [
    '/api',
    '/api/v1',
    '/v1',
    '/v1beta',
    '/session/x',
    '/mcp',
    '/mcp/x/y',
    '/v1/messages/x/y',
    '/v1/sessions',
  ]) {
    const line = `GET ${prefix}/no-such-thing`
    const known = await send(service, line)
    assert.equal(known.status, 404, line)
    assert.match(String(known.headers['request-id']), /^req_/)
    const unknown = await send(stranger, line)
    assert.equal(unknown.status, 401, line)
    assert.equal(unknown.text, unauthorized)
  }
  assert.equal((await send(stranger, 'GET /no-such-thing')).status, 404)
})

const patternOf = ({ path }: Pick<Route, 'path'>) => new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`)

test('a wrong method is 405 with Allow, and 401 without a key', async () => {
  for (const path of new Set(everyPath.map(route => route.path))) {
    // A path with a name in the place of an id is one of that id, too: `/api/agents/import`.
    const there = everyPath.filter(route => patternOf(route).test(path))
    const allowed = [...new Set(there.map(({ method }) => method))]
    const line = lineOf({ method: 'PUT', path })
    if (allowed.includes('PUT')) continue
    const answer = await send(service, line)
    assert.equal(answer.status, 405, line)
    assert.deepEqual(String(answer.headers.allow).split(', ').sort(), allowed.sort())
    if (/^\/(api|v1|session|openai|chat|responses|messages|embeddings|models)/.test(path))
      assert.equal((await send(stranger, line)).status, 401, line)
  }
})

test('S41: errors have the shape of their path', async () => {
  const nested = (await send(service, 'GET /session/ses_nothing')).json()
  assert.deepEqual(nested, { error: { type: 'gateway_error', message: 'session ses_nothing not found' } })
  const plain = (await send(service, 'GET /api/v1/managed_agents/sessions/ses_nothing')).json()
  assert.deepEqual(plain, { error: 'session ses_nothing not found' })
  const model = await send(service, 'GET /v1/models/nothing')
  assert.equal(model.status, 404)
  assert.deepEqual(model.json(), {
    type: 'error',
    error: { type: 'not_found_error', message: 'model nothing not found' },
    request_id: model.headers['request-id'],
  })
  assert.equal(typeof (await send(service, 'GET /api/v1/nothing')).json()['error'], 'string')
  assert.equal((await send(service, 'GET /v1/messages/nothing')).json()['type'], 'error')
  const google = { error: { code: 404, message: 'model nothing not found', status: 'NOT_FOUND' } }
  assert.deepEqual((await send(service, 'GET /v1beta/models/nothing')).json(), google)
  const call = await send(service, 'POST /v1/models/nothing:generateContent', { body: { contents: [{}] } })
  assert.deepEqual(call.json(), google)
  assert.equal((await send(service, 'GET /v1beta/nothing')).json<typeof google>().error.status, 'NOT_FOUND')
  const missing = (await send(service, 'GET /api/nothing')).json<{ error: { type: string } }>()
  assert.equal(missing.error.type, 'gateway_error')
})

test('S05: no spelling of a path gets in without a key', async () => {
  for (const path of [
    '/api/agents',
    '/session',
    '/v1/models',
    '/api/capabilities',
    '/api/v1/managed_agents/sessions',
  ]) {
    for (const spelling of spellingsOf(path)) {
      const { status } = await send(stranger, `GET ${spelling}`)
      assert.ok(status >= 400 && status < 500, `GET ${spelling} answered ${status}`)
    }
  }
})

test('S05: a path that cannot be decoded is 401 without a key and 400 in our shape with one', async () => {
  assert.equal((await send(stranger, 'GET /api/agents%zz')).text, unauthorized)
  const answer = await send(service, 'GET /api/agents%zz')
  assert.equal(answer.status, 400)
  assert.equal(answer.json<{ error: { type: string } }>().error.type, 'gateway_error')
  assert.match(String(answer.headers['request-id']), /^req_/)
  const tooLong = `/session/${'a'.repeat(600)}`
  assert.equal((await send(stranger, `GET ${tooLong}`)).text, unauthorized)
  assert.equal((await send(service, `GET ${tooLong}`)).status, 404)
})

test('S50: what is no HTTP, and headers above 16 KB, are rejected in our shape', async () => {
  for (const [line, headers, status] of [
    ['GET \\api\\agents', {}, 400],
    ['GET /health', { 'x-big': 'a'.repeat(17_000) }, 431],
  ] as const) {
    const answer = await send(service, line, { headers })
    assert.equal(answer.status, status)
    assert.equal(answer.json<{ error: { type: string } }>().error.type, 'gateway_error')
    assert.match(String(answer.headers['request-id']), /^req_/)
  }
})

test('S05: no header of a proxy changes path, method or caller', async () => {
  const headers = {
    'x-original-url': '/health',
    'x-rewrite-url': '/health',
    'x-forwarded-for': '127.0.0.1',
    'x-forwarded-host': 'localhost',
    'x-http-method-override': 'GET',
    'x-real-ip': '127.0.0.1',
  }
  assert.equal((await send(stranger, 'GET /api/agents', { headers })).status, 401)
  assert.equal((await send(stranger, 'DELETE /session/nothing_1', { headers })).status, 401)
  const towardsAgents = { headers: { ...headers, 'x-original-url': '/api/agents', 'x-rewrite-url': '/api/agents' } }
  assert.deepEqual((await send(stranger, 'GET /health', towardsAgents)).json(), { status: 'ok' })
})

test('M7, S04, S42: without a master key this machine is let in; a foreign Host, Origin or page is 403', async () => {
  const unlocked = await startService({ key: null })
  const host = new URL(unlocked.url).host
  assert.equal((await send(unlocked, 'GET /api/agents')).status, 200)
  assert.equal((await send(unlocked, 'GET /api/agents', { headers: { authorization: 'Bearer anything' } })).status, 200)
  const { port } = new URL(unlocked.url)
  const ours = [
    { origin: `http://${host}` },
    { host: `localhost:${port}`, origin: `http://localhost:${port}` },
    { 'sec-fetch-site': 'none' },
    { origin: `http://${host}`, 'sec-fetch-site': 'same-origin' },
  ]
  for (const headers of ours) {
    assert.equal((await send(unlocked, 'GET /api/agents', { headers })).status, 200, JSON.stringify(headers))
  }
  const foreign = [
    { host, origin: 'http://localhost:3000' },
    { host, origin: 'http://[::1]:80' },
    { host, origin: `https://${host}` },
    { host, origin: 'http://127.0.0.1' },
    { host, origin: `http://localhost:${port}` },
    { host, origin: `http://${host}`, 'sec-fetch-site': 'same-site' },
    { host, 'sec-fetch-site': 'cross-site' },
    { host, 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' },
    { host: 'evil.example' },
    { host: `evil.example:${new URL(unlocked.url).port}` },
    { host: '127.0.0.1.evil.example' },
    { host: 'localhost.evil.example' },
    { host, origin: 'https://evil.example' },
    { host, origin: 'http://localhost.evil.example' },
    { host, origin: 'null' },
  ]
  for (const headers of foreign) {
    const answer = await send(unlocked, 'GET /api/agents', { headers })
    assert.equal(answer.status, 403, JSON.stringify(headers))
    const message =
      'without a master key only programs of this machine and pages of this service may call it; set GATEWAY_MASTER_KEY'
    assert.deepEqual(answer.json(), { error: { type: 'gateway_error', message } })
    assert.equal((await send(unlocked, 'POST /session', { headers, body: {} })).status, 403)
    assert.equal((await send(unlocked, 'POST /session/ses_1/abort', { headers })).status, 403)
    assert.equal((await send(unlocked, 'GET /event', { headers })).status, 403)
    const page = { headers: { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' } }
    assert.equal((await send(unlocked, 'GET /docs', page)).status, 200)
  }
})
