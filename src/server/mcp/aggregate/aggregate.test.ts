import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Client as ModernClient, StreamableHTTPClientTransport as ModernTransport } from '@modelcontextprotocol/client'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { startFullLegacyServer } from '../../../../test/support/mcp/full-legacy-server.ts'
import { type McpCaller, startMcpApp } from '../../../../test/support/mcp/mcp-app.ts'
import { startModernServer } from '../../../../test/support/mcp/real-servers.ts'
import { legacyScript, sendJson, startScriptedUpstream, tool } from '../../../../test/support/mcp/scripted-upstream.ts'

const app = await startMcpApp()
const [modern, legacy] = await Promise.all([startModernServer(), startFullLegacyServer()])
const cancelled: unknown[] = []
const files = await startScriptedUpstream((request, response) => {
  if (request.body['method'] === 'notifications/cancelled') cancelled.push(request.body['params'])
  legacyScript(
    () => [tool('echo'), tool('read'), tool('hang')],
    ({ body }, answer) => {
      const { name } = body['params'] as { name: string }
      if (name !== 'hang')
        sendJson(answer, { jsonrpc: '2.0', id: body['id'], result: { content: [{ type: 'text', text: name }] } })
    },
  )(request, response)
})
const dead = await startScriptedUpstream((_request, response) => response.destroy())
await app.registered({ server_name: 'modern', url: modern })
await app.registered({ server_name: 'files', url: files.url })
await app.registered({ server_name: 'dead', url: dead.url })

const longMs = 60_000
const url = new URL(`${app.url}/mcp`)
const firstText = (result: unknown): string => (result as { content: { text?: string }[] }).content[0]?.text ?? ''

async function legacyClient(caller: McpCaller, headers: Record<string, string> = {}) {
  const client = new Client({ name: 'test', version: '1' })
  const transport = new StreamableHTTPClientTransport(url, {
    requestInit: { headers: { 'x-api-key': caller, ...headers } },
  })
  await client.connect(transport as Parameters<typeof client.connect>[0])
  return client
}

test('a legacy client sees and calls the tools of servers of both eras; a dead server is left out', async () => {
  const client = await legacyClient('ana')
  const names = (await client.listTools()).tools.map(({ name }) => name).toSorted()
  const all = ['files__echo', 'files__hang', 'files__read', 'modern__confirm', 'modern__echo', 'modern__steps']
  assert.deepEqual(names, all)
  assert.equal(firstText(await client.callTool({ name: 'files__read', arguments: {} })), 'read')
  const progress: number[] = []
  const result = await client.callTool({ name: 'modern__steps', arguments: { word: 'hi' } }, undefined, {
    onprogress: each => progress.push(each.progress),
    timeout: longMs,
  })
  assert.deepEqual([firstText(result), progress], ['hi', [1, 2]])
  await assert.rejects(client.callTool({ name: 'dead__x', arguments: {} }), /unreachable/)
  await assert.rejects(client.callTool({ name: 'nothing__x', arguments: {} }), /not a tool that this key may call/)
  await client.close()
})

test('a modern client does the same', async () => {
  const client = new ModernClient(
    { name: 'test', version: '1' },
    { versionNegotiation: { mode: { pin: '2026-07-28' } } },
  )
  await client.connect(new ModernTransport(url, { requestInit: { headers: { 'x-api-key': 'ana' } } }))
  const names = (await client.listTools()).tools.map(({ name }) => name)
  assert.ok(names.includes('files__read') && names.includes('modern__echo'))
  assert.equal(firstText(await client.callTool({ name: 'files__read', arguments: {} })), 'read')
  assert.equal(firstText(await client.callTool({ name: 'modern__echo', arguments: { word: 'hi' } })), 'hi')
  await client.close()
})

test('a key sees only its servers and tools, and x-mcp-servers narrows further', async () => {
  const namesFor = async (caller: McpCaller, headers: Record<string, string> = {}) => {
    const client = await legacyClient(caller, headers)
    const names = (await client.listTools()).tools.map(({ name }) => name)
    await client.close()
    return names.toSorted()
  }
  assert.deepEqual(await namesFor('narrow'), ['files__echo'])
  assert.deepEqual(await namesFor('ana', { 'x-mcp-servers': 'files' }), ['files__echo', 'files__hang', 'files__read'])
  await assert.rejects(namesFor('narrow', { 'x-mcp-servers': 'modern' }), /MCP server modern not found/)
})

test('a cancelled call is cancelled at its server', async () => {
  const client = await legacyClient('ana')
  await client.listTools()
  const cancel = new AbortController()
  const calls = () => files.requests.filter(({ text }) => text.includes('"hang"')).length
  const call = client.callTool({ name: 'files__hang', arguments: {} }, undefined, {
    signal: cancel.signal,
    timeout: longMs,
  })
  const failed = assert.rejects(call)
  while (calls() === 0) await new Promise(resolve => setTimeout(resolve, 20))
  cancel.abort()
  await failed
  while (cancelled.length === 0) await new Promise(resolve => setTimeout(resolve, 20))
  await client.close()
})

test('sessions belong to their principal, other methods are refused by name, and GET is 405', async () => {
  const initialize = { jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: '2025-06-18' } }
  const opened = await app.call<{ result: { protocolVersion: string } }>('ana', 'POST /mcp', initialize)
  assert.equal(opened.body.result.protocolVersion, '2025-06-18')
  const headers = { 'mcp-session-id': opened.headers.get('mcp-session-id') ?? '' }
  const ping = { jsonrpc: '2.0', id: 2, method: 'ping' }
  assert.equal((await app.call('ana', 'POST /mcp', ping, headers)).status, 200)
  assert.equal((await app.call('bo', 'POST /mcp', ping, headers)).status, 404)
  const other = await app.call('ana', 'POST /mcp', { ...ping, method: 'resources/list' })
  assert.match(other.text, /-32601.*resources\/list is not supported/)
  assert.equal((await app.call('ana', 'GET /mcp')).status, 405)
  assert.equal((await app.call('ana', 'POST /mcp', ping, { origin: 'https://evil.example' })).status, 403)
})

const metaOf = (version: string, capabilities: object = {}) => ({
  'io.modelcontextprotocol/protocolVersion': version,
  'io.modelcontextprotocol/clientCapabilities': capabilities,
})

test('modern: an unknown method is 404, headers that differ and other revisions are 400', async () => {
  const send = (method: string, version = '2026-07-28', headers: Record<string, string> = {}) =>
    app.call(
      'ana',
      'POST /mcp',
      { jsonrpc: '2.0', id: 1, method, params: { _meta: metaOf(version) } },
      { 'mcp-protocol-version': version, 'mcp-method': method, ...headers },
    )
  const listed = await send('tools/list')
  assert.match(listed.text, /"resultType":"complete".*"cacheScope":"private"/)
  for (const [answer, status, code] of [
    [await send('prompts/list'), 404, '-32601'],
    [await send('tools/list', '2026-07-28', { 'mcp-method': 'ping' }), 400, '-32020'],
    [await send('tools/list', '2027-01-01'), 400, '-32022'],
  ] as const) {
    assert.equal(answer.status, status, answer.text)
    assert.ok(answer.text.includes(code), answer.text)
  }
})

test('a modern client answers questions of servers of both eras through the one server', async () => {
  await app.registered({ server_name: 'full', url: legacy.url })
  const client = new ModernClient(
    { name: 'test', version: '1' },
    { capabilities: { elicitation: {} }, versionNegotiation: { mode: { pin: '2026-07-28' } } },
  )
  client.setRequestHandler('elicitation/create', async () => ({ action: 'accept', content: { name: 'Ana' } }))
  await client.connect(new ModernTransport(url, { requestInit: { headers: { 'x-api-key': 'ana' } } }))
  const called = async (name: string) => firstText(await client.callTool({ name, arguments: {} }, { timeout: longMs }))
  assert.equal(await called('modern__confirm'), 'hello Ana')
  assert.equal(await called('full__confirm'), 'accept Ana')
  assert.equal(await called('full__two-rounds'), 'both rounds')
  const progress: number[] = []
  const onprogress = (each: { progress: number }) => void progress.push(each.progress)
  await client.callTool({ name: 'full__steps', arguments: {} }, { onprogress, timeout: longMs })
  assert.deepEqual(progress, [1, 2])
  await assert.rejects(client.callTool({ name: 'full__early-url', arguments: {} }), { code: -32_021 })
  await client.close()
})

test('the state of a question belongs to its principal, and a client without capabilities is not asked', async () => {
  const call = (caller: McpCaller, capabilities: object, more: object = {}) => {
    const params = { name: 'full__confirm', arguments: {}, ...more, _meta: metaOf('2026-07-28', capabilities) }
    const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': params.name }
    return app.call<{ result: Record<string, unknown> }>(
      caller,
      'POST /mcp',
      { jsonrpc: '2.0', id: 1, method: 'tools/call', params },
      headers,
    )
  }
  const { requestState, resultType } = (await call('ana', { elicitation: {} })).body.result
  assert.equal(resultType, 'input_required')
  const inputResponses = { 'question-1': { action: 'decline' } }
  const foreign = await call('bo', { elicitation: {} }, { requestState, inputResponses })
  assert.match(foreign.text, /-32602.*requestState is not known/)
  assert.match((await call('ana', { elicitation: {} }, { requestState, inputResponses })).text, /"text":"decline/)
  assert.doesNotMatch((await call('ana', {})).text, /input_required/)
})

test('from 60 tools on a client finds and calls tools by a search', async () => {
  const many = Array.from({ length: 60 }, (_, at) =>
    tool(`lamp_${at}`, at === 7 ? 'opens the garage' : 'switches a lamp'),
  )
  const upstream = await startScriptedUpstream(
    legacyScript(
      () => many,
      ({ body }, answer) => {
        const { name } = body['params'] as { name: string }
        sendJson(answer, { jsonrpc: '2.0', id: body['id'], result: { content: [{ type: 'text', text: name }] } })
      },
    ),
  )
  await app.registered({ server_name: 'many', url: upstream.url })
  const client = await legacyClient('ana', { 'x-mcp-servers': 'many' })
  const listed = (await client.listTools()).tools.map(({ name }) => name)
  assert.deepEqual(listed, ['search_tools', 'call_tool'])
  const found = await client.callTool({ name: 'search_tools', arguments: { query: 'garage' } })
  assert.deepEqual(
    (found.structuredContent as { tools: { name: string }[] }).tools.map(({ name }) => name),
    ['many__lamp_7'],
  )
  const called = { name: 'call_tool', arguments: { name: 'many__lamp_7', arguments: {} } }
  assert.equal(firstText(await client.callTool(called)), 'lamp_7')
  assert.equal(firstText(await client.callTool({ name: 'many__lamp_8', arguments: {} })), 'lamp_8')
  assert.equal((await client.callTool({ name: 'search_tools', arguments: {} })).isError, true)
  await assert.rejects(client.callTool({ name: 'call_tool', arguments: { name: 'many__x' } }), /not a tool/)
  await client.close()
  const few = await app.call('narrow', 'POST /mcp', { jsonrpc: '2.0', id: 1, method: 'tools/list' })
  assert.match(few.text, /files__echo/, 'a key with few tools sees them')
})
