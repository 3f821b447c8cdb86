import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { allRoutes } from '../../src/contract/api.ts'
import type { Route } from '../../src/contract/route.ts'
import { send } from '../support/service/send.ts'
import { startService } from '../support/service/service.ts'

const service = await startService()
const MiB = 1024 * 1024
const { hostname, port } = new URL(service.url)

/** Sends bytes as they are and returns the first answer; empty when the connection is closed without one. */
async function exchange(bytes: string): Promise<string> {
  const socket = connect(Number(port), hostname)
  socket.on('error', () => undefined)
  await once(socket, 'connect')
  socket.end(bytes)
  return text(socket)
}

const request = (headers: readonly string[], body = ''): string =>
  `POST /api/agents HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${service.key}\r\nconnection: close\r\n${headers.map(line => `${line}\r\n`).join('')}\r\n${body}`

for (const [line, limit] of [
  ['POST /api/agents', 2 * MiB],
  ['POST /v1/messages', 32 * MiB],
  ['POST /mcp', 4 * MiB],
] as const) {
  test(`S50: ${line}: a body above ${limit / MiB} MiB is 413, whether its length is declared or not`, async () => {
    const body = `{"name":"${'x'.repeat(limit)}"}`
    const type = { 'content-type': 'application/json' }
    assert.equal((await send(service, line, { headers: type, body })).status, 413)
    const chunked = { ...type, 'transfer-encoding': 'chunked' }
    assert.equal((await send(service, line, { headers: chunked, body })).status, 413)
  })
}

test('S50: a body that is shorter or longer than its length, or has two lengths, never starts work', async () => {
  const body = '{"name":"Lying","owner_id":"me","model":"demo"}'
  const json = 'content-type: application/json'
  for (const [headers, sent] of [
    [[json, `content-length: ${body.length + 50}`], body],
    [[json, `content-length: ${body.length}`, 'content-length: 2'], body],
    [[json, `content-length: ${body.length}`, 'transfer-encoding: chunked'], body],
    [[json, 'content-length: -1'], body],
    [[json, 'content-length: 1e9'], body],
    [[json, 'transfer-encoding: chunked, gzip'], body],
    [[json, 'transfer-encoding: chunked'], `${(body.length + 9).toString(16)}\r\n${body}`],
    [[json, 'transfer-encoding: chunked'], 'zz\r\n{}\r\n0\r\n\r\n'],
  ] as const) {
    const answer = await exchange(request(headers, sent))
    assert.ok(answer === '' || /^HTTP\/1\.1 4\d\d /.test(answer), `${headers.join('; ')}: ${answer.slice(0, 200)}`)
  }
  const { agents } = (await send(service, 'GET /api/agents')).json<{ agents: { name: string }[] }>()
  assert.deepEqual(
    agents.filter(({ name }) => name === 'Lying'),
    [],
  )
})

test('S50: nesting beyond 64 levels and long arrays are 400 on every route with a body', async () => {
  const deep = `{"metadata":${'['.repeat(100)}${']'.repeat(100)}}`
  const long = `{"metadata":[${'0,'.repeat(100_001)}0]}`
  const routes = allRoutes.filter(({ body, consumes, errorShape }) => body && !consumes && errorShape !== 'a2a-rpc')
  assert.ok(routes.length > 80, String(routes.length))
  for (const { method, path, id } of routes) {
    const line = `${method} ${path.replaceAll('{version}', '1').replaceAll(/\{\w+\}/g, 'nothing_1')}`
    for (const body of [deep, long]) {
      const { status } = await send(service, line, { headers: { 'content-type': 'application/json' }, body })
      assert.ok(status >= 400 && status < 500, `${id}: ${status}`)
    }
  }
})

const placesOf = ({ params, query }: Route) =>
  [params, query].flatMap(of =>
    Object.entries((of as { properties?: Record<string, object> } | undefined)?.properties ?? {}),
  )

test('S50: every whole number in a path or query has bounds, so that no store gets one that its column cannot hold', () => {
  const open = allRoutes.flatMap(route =>
    placesOf(route)
      .filter(([, schema]) => 'type' in schema && schema.type === 'integer' && !('maximum' in schema))
      .map(([name]) => `${route.id} ${name}`),
  )
  assert.deepEqual(open, [])
})

for (const line of ['POST /a2a/', 'GET /api/agents/', 'DELETE /api/keys/', 'GET /session//message'])
  test(`S50: ${line}, with an id of no characters, is 404`, async () => {
    assert.equal((await send(service, line, line.startsWith('POST') ? { body: {} } : {})).status, 404)
  })

const agentPaths = [
  'versions/2147483648',
  'versions/99999999999999999999/diff',
  'versions/1/diff?to=1e30',
  'context?version=9e15',
]
for (const path of agentPaths) {
  test(`S50: GET /api/agents/{agent_id}/${path} is 400`, async () => {
    const body = { name: 'A', owner_id: 'me', model: 'demo' }
    const { id } = (await send(service, 'POST /api/agents', { body })).json<{ id: string }>()
    assert.equal((await send(service, `GET /api/agents/${id}/${path}`)).status, 400)
  })
}

test('S41: a time that does not exist is 400, in filters, bodies and cursors', async () => {
  const idOf = async (line: string, body: object) => (await send(service, line, { body })).json<{ id: string }>().id
  const config = { a2a: { enabled: true } }
  const agent_id = await idOf('POST /api/agents', { name: 'A', owner_id: 'me', model: 'demo', config })
  const schedule = await idOf('POST /api/schedules', { name: 'S', agent_id, cron: '0 0 1 1 *', prompt: 'Hi' })
  const credentials = `/v1/vaults/${await idOf('POST /v1/vaults', { display_name: 'V' })}/credentials`
  const auth = { type: 'mcp_oauth', mcp_server_url: 'https://mcp.invalid/', access_token: 'token' }
  const credential = await idOf(`POST ${credentials}`, { auth })
  const time = '2026-13-45T25:61:61Z'
  const cursor = (text: string) => Buffer.from(text).toString('base64url')
  for (const [line, body] of [
    [`GET /api/schedules/${schedule}/runs?cursor=${cursor('9'.repeat(16))}`],
    [`GET /a2a/${agent_id}/tasks?pageToken=${cursor('2026-02-31T00:00:00.000Z msg')}`],
    [`GET /a2a/${agent_id}/tasks?statusTimestampAfter=${time}`],
    [`GET /v1/sessions?created_at[gte]=${time}`],
    [`POST ${credentials}`, { auth: { ...auth, mcp_server_url: 'https://b.invalid/', expires_at: time } }],
    [`POST ${credentials}/${credential}`, { auth: { type: 'mcp_oauth', expires_at: time } }],
  ] as const) {
    const answer = await send(service, line, { headers: { 'a2a-version': '1.0' }, ...(body && { body }) })
    assert.equal(answer.status, 400, `${line}: ${answer.text}`)
  }
})

for (const { method, path, id } of allRoutes.filter(({ bodyOptional }) => bodyOptional)) {
  test(`S41: ${id}: the body \`null\` is an absent one`, async () => {
    const line = `${method} ${path.replaceAll('{version}', '1').replaceAll(/\{\w+\}/g, 'nothing_1')}`
    const headers = { 'content-type': 'application/json' }
    const [absent, empty] = [await send(service, line), await send(service, line, { headers, body: 'null' })]
    assert.ok(empty.status < 500, empty.text)
    assert.equal(empty.status, absent.status, empty.text)
  })
}

test('S41: errors before a route is found have the shape of that route', async () => {
  const shapes: readonly (readonly [line: string, of: (body: Record<string, unknown>) => boolean])[] = [
    ['POST /mcp/%c0%af', body => body['jsonrpc'] === '2.0'],
    [`DELETE /mcp/${'a'.repeat(600)}`, body => body['jsonrpc'] === '2.0'],
    ['POST /bedrock/%zz', body => typeof body['message'] === 'string'],
    [`GET /api/v1/skills/${'a'.repeat(600)}`, body => typeof body['error'] === 'string'],
    ['GET /v1/sessions/%ED%A0%80/events', body => body['type'] === 'error'],
  ]
  for (const [line, hasShape] of shapes) {
    const answer = await send(service, line)
    assert.ok(answer.status === 400 || answer.status === 404, line)
    assert.ok(hasShape(answer.json()), `${line}: ${answer.text}`)
  }
})

test('S52: wildcards of SQL and of patterns are ordinary text in every search', async () => {
  const made = (name: string) => send(service, 'POST /api/agents', { body: { name, owner_id: 'me', model: 'demo' } })
  for (const name of ['ordinary', '100% sure', 'under_score', 'back\\slash'])
    assert.equal((await made(name)).status, 201)
  const found = async (q: string) => {
    const answer = await send(service, `GET /api/agents?q=${encodeURIComponent(q)}`)
    assert.equal(answer.status, 200, answer.text)
    return answer.json<{ agents: { name: string }[] }>().agents.map(({ name }) => name)
  }
  assert.deepEqual(await found('%'), ['100% sure'])
  assert.deepEqual(await found('_'), ['under_score'])
  assert.deepEqual(await found('\\'), ['back\\slash'])
  assert.deepEqual(await found('(a+)+$'), [])
  assert.deepEqual(await found('.*'), [])
})

const searches = allRoutes.filter(
  ({ method, query }) => method === 'GET' && 'q' in ((query as { properties?: object } | undefined)?.properties ?? {}),
)
for (const { path, id } of searches) {
  test(`S52: ${id}: a search text has at most 256 characters, and one of wildcards is answered`, async () => {
    const line = `GET ${path.replaceAll(/\{\w+\}/g, 'nothing_1')}`
    assert.ok((await send(service, `${line}?q=${'%25'.repeat(256)}`)).status < 500)
    const tooLong = await send(service, `${line}?q=${'%25'.repeat(10_000)}`)
    assert.ok([400, 404, 431].includes(tooLong.status), String(tooLong.status))
  })
}

const broken = ['a\r\nset-cookie: a=b', 'a\nx-injected: 1', 'a\rb', 'a\u2028b', 'a\u0000b', 'ä€', 'x'.repeat(9_000)]

test('S54: no text of a caller ends or adds a header', async () => {
  for (const value of broken) {
    const encoded = encodeURIComponent(value)
    const answers = [
      await send(service, `GET /v1/models/${encoded}`),
      await send(service, 'POST /v1/messages', { body: { model: value, max_tokens: 1, messages: [] } }),
      await send(service, 'POST /v1/chat/completions', {
        body: { model: value, messages: [{ role: 'user', content: 'x' }] },
      }),
      await send(service, 'POST /session', { body: { [value]: 1, title: value } }),
      await send(service, `GET /mcp/${encoded}`),
      await send(service, `GET /session/${encoded}`),
      await send(service, `GET /api/usage/calls?format=csv&model=${encoded}`),
    ]
    for (const { headers, status } of answers) {
      assert.ok(status < 500, String(status))
      assert.equal(headers['set-cookie'], undefined)
      assert.equal(headers['x-injected'], undefined)
      for (const [name, text] of Object.entries(headers))
        assert.match(String(text), /^[\x20-\x7e]*$/, `${name} of an answer to ${JSON.stringify(value.slice(0, 20))}`)
    }
  }
})
