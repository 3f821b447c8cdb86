import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Client as ModernClient, StreamableHTTPClientTransport as ModernTransport } from '@modelcontextprotocol/client'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { type McpCaller, startMcpApp } from '../../../../test/support/mcp/mcp-app.ts'
import { startEverythingServer, startModernServer } from '../../../../test/support/mcp/real-servers.ts'
import { legacyScript, sendJson, startScriptedUpstream, tool } from '../../../../test/support/mcp/scripted-upstream.ts'

const app = await startMcpApp()
const [everything, modern] = await Promise.all([startEverythingServer(), startModernServer()])
await app.registered({ server_name: 'everything', url: everything })
await app.registered({ server_name: 'modern', url: modern, alias: 'm' })

const longMs = 60_000

async function legacyClient(server: string, caller: McpCaller = 'ana', capabilities = {}) {
  const client = new Client({ name: 'test', version: '1' }, { capabilities })
  const transport = new StreamableHTTPClientTransport(new URL(`${app.url}${server}`), {
    requestInit: { headers: { 'x-api-key': caller } },
  })
  await client.connect(transport as Parameters<typeof client.connect>[0])
  return { client, transport }
}

async function modernClient(server: string, caller: McpCaller = 'ana') {
  const client = new ModernClient(
    { name: 'test', version: '1' },
    { capabilities: { elicitation: {} }, versionNegotiation: { mode: { pin: '2026-07-28' } } },
  )
  client.setRequestHandler('elicitation/create', async () => ({ action: 'accept', content: { name: 'Ana' } }))
  await client.connect(
    new ModernTransport(new URL(`${app.url}${server}`), { requestInit: { headers: { 'x-api-key': caller } } }),
  )
  return client
}

/** Text of the first block of a tool result. */
const firstText = (result: unknown): string => (result as { content: { text?: string }[] }).content[0]?.text ?? ''

test('legacy: the official client lists and calls tools, with progress, under each path of a server', async () => {
  for (const path of ['/mcp/everything', '/everything/mcp']) {
    const { client, transport } = await legacyClient(path)
    const { tools } = await client.listTools()
    assert.ok(tools.some(({ name }) => name === 'echo'))
    assert.match(firstText(await client.callTool({ name: 'echo', arguments: { message: 'hi' } })), /hi/)
    const progress: number[] = []
    await client.callTool(
      { name: 'trigger-long-running-operation', arguments: { duration: 0.2, steps: 2 } },
      undefined,
      { onprogress: each => progress.push(each.progress), timeout: longMs },
    )
    assert.deepEqual(progress, [1, 2])
    await transport.terminateSession()
    await client.close()
  }
})

test('legacy: a server asks its client for input during a call', async () => {
  const { client } = await legacyClient('/mcp/everything', 'ana', { elicitation: {} })
  let asked = 0
  client.setRequestHandler(ElicitRequestSchema, async () => {
    asked++
    return { action: 'decline' as const }
  })
  const result = await client.callTool({ name: 'trigger-elicitation-request', arguments: {} }, undefined, {
    timeout: longMs,
  })
  assert.equal(asked, 1)
  assert.match(JSON.stringify(result), /declin/)
  await client.close()
})

test('legacy: a cancelled call is cancelled at the server', async () => {
  const { client } = await legacyClient('/mcp/everything')
  const cancel = new AbortController()
  const slow = client.callTool(
    { name: 'trigger-long-running-operation', arguments: { duration: 600, steps: 600 } },
    undefined,
    { signal: cancel.signal, timeout: longMs },
  )
  cancel.abort()
  await assert.rejects(slow)
  assert.match(firstText(await client.callTool({ name: 'echo', arguments: { message: 'still here' } })), /still here/)
  await client.close()
})

test("S31: another principal's session id is 404, the own one works", async () => {
  const { client, transport } = await legacyClient('/mcp/everything')
  const { sessionId = '' } = transport
  const ping = { jsonrpc: '2.0', id: 7, method: 'ping' }
  const accept = { accept: 'application/json, text/event-stream' }
  const headers = { ...accept, 'mcp-session-id': sessionId, 'mcp-protocol-version': '2025-11-25' }
  assert.equal((await app.call('ana', 'POST /mcp/everything', ping, headers)).status, 200)
  for (const [caller, path] of [
    ['bo', '/mcp/everything'],
    ['master', '/mcp/everything'],
    ['ana', '/mcp/modern'],
  ] as const) {
    const foreign = await app.call<{ error: { code: number } }>(caller, `POST ${path}`, ping, headers)
    assert.deepEqual([foreign.status, foreign.body.error.code], [404, -32_001], `${caller} ${path}`)
  }
  const madeUp = { ...headers, 'mcp-session-id': 'a'.repeat(60) }
  assert.equal((await app.call('ana', 'DELETE /mcp/everything', undefined, madeUp)).status, 404)
  await client.close()
})

test('modern: the official client lists and calls tools, with progress and input, by name and alias', async () => {
  for (const path of ['/mcp/modern', '/mcp/m', '/m/mcp']) {
    const client = await modernClient(path)
    const { tools } = await client.listTools()
    assert.deepEqual(tools.map(({ name }) => name).toSorted(), ['confirm', 'echo', 'steps'])
    assert.equal(firstText(await client.callTool({ name: 'echo', arguments: { word: 'hi' } })), 'hi')
    const progress: number[] = []
    const onprogress = (each: { progress: number }) => void progress.push(each.progress)
    await client.callTool({ name: 'steps', arguments: { word: 'x' } }, { onprogress, timeout: longMs })
    assert.deepEqual(progress, [1, 2])
    assert.equal(firstText(await client.callTool({ name: 'confirm', arguments: {} })), 'hello Ana')
    await client.close()
  }
})

const credentials = [
  ['api_key', { 'x-api-key': 'secret-value-1' }],
  ['bearer_token', { authorization: 'Bearer secret-value-1' }],
  ['basic', { authorization: `Basic ${Buffer.from('secret-value-1').toString('base64')}` }],
  ['authorization', { authorization: 'secret-value-1' }],
] as const
for (const [auth_type, expected] of credentials) {
  test(`the server gets its ${auth_type} credential and none of the caller`, async () => {
    const upstream = await startScriptedUpstream((_request, response) => sendJson(response, { ok: true }))
    const server_name = `auth-${auth_type}`
    const static_headers = { 'X-Tenant': 'acme' }
    await app.registered({
      server_name,
      url: `${upstream.url}/mcp`,
      auth_type,
      credentials: { auth_value: 'secret-value-1' },
      static_headers,
    })
    const headers = { authorization: 'Bearer own', cookie: 'a=b', 'x-forwarded-for': '10.0.0.1', 'mcp-method': 'ping' }
    await app.call('ana', `POST /mcp/${server_name}`, { jsonrpc: '2.0', id: 1, method: 'ping' }, headers)
    const sent = upstream.requests[0]?.headers ?? assert.fail('the server got no request')
    const { 'x-api-key': key, authorization, cookie, 'x-forwarded-for': forwarded } = sent
    const own = { 'x-api-key': undefined, authorization: undefined, ...expected }
    assert.deepEqual({ 'x-api-key': key, authorization }, own)
    assert.deepEqual([cookie, forwarded, sent['x-tenant'], sent['mcp-method']], [undefined, undefined, 'acme', 'ping'])
  })
}

test('oauth2: a token is fetched once, renewed once after a 401, and the failure after that is final', async () => {
  let issued = 0
  let accepted = 'token-number-1'
  const upstream = await startScriptedUpstream((request, response) => {
    if (request.path === '/token') {
      issued++
      sendJson(response, { access_token: `token-number-${issued}`, expires_in: 3600 })
    } else if (request.headers.authorization === `Bearer ${accepted}`) sendJson(response, { ok: true })
    else sendJson(response, { error: 'no' }, 401)
  })
  await app.registered({
    server_name: 'oauth',
    url: `${upstream.url}/mcp`,
    auth_type: 'oauth2',
    credentials: {
      client_id: 'me',
      client_secret: 'hush-hush-hush',
      scopes: ['a', 'b'],
      token_url: `${upstream.url}/token`,
    },
  })
  const ping = { jsonrpc: '2.0', id: 'one', method: 'ping' }
  assert.equal((await app.call('ana', 'POST /mcp/oauth', ping)).status, 200)
  assert.equal((await app.call('ana', 'POST /mcp/oauth', ping)).status, 200)
  assert.equal(issued, 1)
  const form = new URLSearchParams(upstream.requests[0]?.text)
  assert.deepEqual([form.get('grant_type'), form.get('scope')], ['client_credentials', 'a b'])
  accepted = 'token-number-2'
  assert.equal((await app.call('ana', 'POST /mcp/oauth', ping)).status, 200)
  assert.equal(issued, 2)
  accepted = 'none'
  const last = await app.call('ana', 'POST /mcp/oauth', ping)
  assert.equal(last.status, 502)
  assert.deepEqual([(last.body as { id: unknown }).id, issued], ['one', 3])
})

test('S25: without token_url the token endpoint is that of the own origin; one elsewhere gets no secret', async () => {
  const elsewhere = await startScriptedUpstream((_request, response) => sendJson(response, { access_token: 'stolen' }))
  app.allow(elsewhere.url)
  let endpoint = ''
  const upstream = await startScriptedUpstream(({ path, headers }, response) => {
    if (path === '/.well-known/oauth-authorization-server') sendJson(response, { token_endpoint: endpoint })
    else if (path === '/own') sendJson(response, { access_token: 'found-token' })
    else sendJson(response, {}, headers.authorization === 'Bearer found-token' ? 200 : 401)
  })
  const credentials = { client_id: 'me', client_secret: 'hush-hush-hush' }
  await app.registered({ server_name: 'discovered', url: `${upstream.url}/mcp`, auth_type: 'oauth2', credentials })
  const send = () => app.call('ana', 'POST /mcp/discovered', { jsonrpc: '2.0', id: 1, method: 'ping' })
  endpoint = `${elsewhere.url}/token`
  const refused = await send()
  assert.deepEqual([refused.status, elsewhere.requests.length], [502, 0])
  assert.match(refused.text, /no token endpoint on its own origin/)
  endpoint = `${upstream.url}/own`
  assert.equal((await send()).status, 200)
})

test('rejections, redirects, blocked addresses and dead servers are 502 with the id of the request', async () => {
  const target = await startScriptedUpstream((_request, response) => sendJson(response, { stolen: true }))
  const upstream = await startScriptedUpstream((_request, response) => response.end())
  await app.registered({ server_name: 'failing', url: upstream.url })
  const send = () =>
    app.call<{ id: unknown; error: { message: string } }>('ana', 'POST /mcp/failing', {
      jsonrpc: '2.0',
      id: 3,
      method: 'ping',
    })
  for (const [status, message] of [
    [401, /rejected the credential/],
    [403, /rejected the credential/],
    [307, /redirect/],
  ] as const) {
    upstream.behaviour.script = (_request, response) => response.writeHead(status, { location: target.url }).end()
    const answer = await send()
    assert.deepEqual([answer.status, answer.body.id], [502, 3])
    assert.match(answer.body.error.message, message)
  }
  assert.equal(target.requests.length, 0)
  upstream.behaviour.script = (_request, response) => response.destroy()
  assert.equal((await send()).status, 502)
  app.block(upstream.url)
  const blocked = await send()
  assert.equal(blocked.status, 502)
  assert.match(blocked.body.error.message, /outbound[.]allow/)
})

test('an unknown server and one that the key may not use are 404; a foreign Origin is 403', async () => {
  const ping = { jsonrpc: '2.0', id: 1, method: 'ping' }
  for (const [caller, path] of [
    ['ana', '/mcp/nothing'],
    ['ana', '/nothing/mcp'],
    ['narrow', '/mcp/everything'],
  ] as const) {
    const answer = await app.call(caller, `POST ${path}`, ping)
    assert.equal(answer.status, 404)
    assert.match(answer.text, /"jsonrpc":"2.0".*MCP server (nothing|everything) not found/)
  }
  assert.equal((await app.call('ana', 'POST /mcp/modern', ping, { origin: 'https://evil.example' })).status, 403)
  assert.notEqual((await app.call('ana', 'POST /mcp/modern', ping, { origin: app.url })).status, 403)
})

test('lists of tools hide what the server and the key do not allow, and calls of it are -32602', async () => {
  const listed = [tool('echo'), tool('read'), tool('delete')]
  const upstream = await startScriptedUpstream(legacyScript(() => listed))
  await app.registered({ server_name: 'files', url: upstream.url, disallowed_tools: ['delete'] })
  const send = async (caller: McpCaller, message: object) =>
    (
      await app.call<{ result?: { tools?: { name: string }[] }; error?: { code: number } }>(
        caller,
        'POST /mcp/files',
        message,
      )
    ).body
  const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' }
  const callOf = (name: string) => ({ jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name } })
  const namesFor = async (caller: McpCaller) => (await send(caller, list)).result?.tools?.map(({ name }) => name)
  assert.deepEqual(await namesFor('ana'), ['echo', 'read'])
  assert.deepEqual(await namesFor('narrow'), ['echo'])
  const before = upstream.requests.length
  assert.equal((await send('ana', callOf('delete'))).error?.code, -32_602)
  assert.equal((await send('narrow', callOf('read'))).error?.code, -32_602)
  assert.equal((await send('ana', [list, callOf('delete')] as unknown as object)).error?.code, -32_602)
  assert.equal(upstream.requests.length, before)
  assert.ok((await send('narrow', callOf('echo'))).result)
  const doubled = '{"jsonrpc":"2.0","id":4,"method":"tools/call","method":"tools/list","params":{"name":"delete"}}'
  await app.call('ana', 'POST /mcp/files', doubled)
  assert.equal(JSON.parse(upstream.requests.at(-1)?.text ?? '').method, 'tools/list')
  assert.equal(upstream.requests.at(-1)?.text.match(/"method"/g)?.length, 1)
  const mismatch = await app.call('ana', 'POST /mcp/files', callOf('echo'), { 'mcp-name': 'delete' })
  assert.deepEqual([mismatch.status, /-32020/.test(mismatch.text)], [400, true])
})

test('a body without restrictions reaches the server byte for byte', async () => {
  const upstream = await startScriptedUpstream((_request, response) => sendJson(response, { ok: true }))
  await app.registered({ server_name: 'bytes', url: upstream.url })
  const text = '{ "jsonrpc":"2.0","id":12345678901234567890, "method":"x/y" ,"params":{"n":0.10}}'
  await app.call('ana', 'POST /mcp/bytes', text)
  assert.equal(upstream.requests[0]?.text, text)
})

test('events pass unchanged and at once; a stream that breaks before its response ends with an error', async () => {
  const first = 'event: message\ndata: {"jsonrpc":"2.0","method":"notifications/progress","params":{}}\n\n'
  const response5 = 'data: {"jsonrpc":"2.0","id":5,"result":{}}\n\n'
  const upstream = await startScriptedUpstream((_request, response) => response.end())
  await app.registered({ server_name: 'stream', url: upstream.url })
  const send = () => app.call('ana', 'POST /mcp/stream', { jsonrpc: '2.0', id: 5, method: 'tools/call' })
  const script = (text: string, isBroken: boolean) => {
    upstream.behaviour.script = (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(text, () => (isBroken ? response.destroy() : response.end()))
    }
  }
  script(`: hello\n\n${first}${response5}`, false)
  assert.equal((await send()).text, `: hello\n\n${first}${response5}`)
  for (const isBroken of [true, false]) {
    script(first, isBroken)
    const { text } = await send()
    assert.ok(text.startsWith(first))
    assert.match(text.slice(first.length), /"id":5,"error":\{"code":-32000/)
  }
  script(`id: 1\n${first}`, false)
  assert.equal((await send()).text, `id: 1\n${first}`)
  script(`id: 1\n${first}`, true)
  assert.match((await send()).text, /"id":5,"error"/)
})

test('the stream of a session is resumed with Last-Event-ID, and 405 is passed on', async () => {
  const upstream = await startScriptedUpstream(({ headers }, response) => {
    if (headers['last-event-id'] === undefined) return void response.writeHead(405, { allow: 'POST' }).end()
    response.writeHead(200, { 'content-type': 'text/event-stream' }).end('id: 8\ndata: {}\n\n')
  })
  await app.registered({ server_name: 'resume', url: upstream.url })
  const refused = await app.call('ana', 'GET /mcp/resume')
  assert.deepEqual([refused.status, refused.headers.get('allow')], [405, 'POST'])
  const resumed = await app.call('ana', 'GET /mcp/resume', undefined, { 'last-event-id': '7' })
  assert.deepEqual([resumed.text, upstream.requests.at(-1)?.headers['last-event-id']], ['id: 8\ndata: {}\n\n', '7'])
})

test('S50: a body above 4 MB is 413, an answer above 10 MB is 502, bad JSON is -32700', async () => {
  const upstream = await startScriptedUpstream((_request, response) => sendJson(response, { text: 'x'.repeat(11e6) }))
  await app.registered({ server_name: 'large', url: upstream.url })
  const send = (body: unknown) => app.call('ana', 'POST /mcp/large', body)
  assert.equal(
    (await send({ jsonrpc: '2.0', id: 1, method: 'x', params: { text: 'x'.repeat(4_200_000) } })).status,
    413,
  )
  assert.equal((await send({ jsonrpc: '2.0', id: 1, method: 'x' })).status, 502)
  assert.match((await send('{"jsonrpc"')).text, /-32700/)
  assert.equal((await send('7')).status, 400)
})

test('S40: a credential that a server echoes is removed from its answer', async () => {
  const upstream = await startScriptedUpstream(({ headers }, response) =>
    sendJson(response, { jsonrpc: '2.0', id: 1, error: { code: 1, message: `bad token ${headers.authorization}` } }),
  )
  const auth_value = 'canary-token-0123456789'
  await app.registered({
    server_name: 'echoing',
    url: upstream.url,
    auth_type: 'bearer_token',
    credentials: { auth_value },
  })
  const { text } = await app.call('ana', 'POST /mcp/echoing', { jsonrpc: '2.0', id: 1, method: 'x' })
  assert.match(text, /bad token Bearer \[secret\]/)
  assert.ok(!text.includes(auth_value))
})
