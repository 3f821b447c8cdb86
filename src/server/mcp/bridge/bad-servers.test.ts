import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { mock, test } from 'node:test'
import { startMcpApp } from '../../../../test/support/mcp/mcp-app.ts'
import {
  legacyScript,
  type Script,
  sendJson,
  startScriptedUpstream,
  tool,
  type UpstreamRequest,
} from '../../../../test/support/mcp/scripted-upstream.ts'
import type { RegisteredServer } from '../registry/server.ts'
import { silenceMs, watchSilence } from './silence.ts'

const app = await startMcpApp()
const events = (response: ServerResponse, text: string) =>
  response.writeHead(200, { 'content-type': 'text/event-stream' }).write(text)
const progress =
  'data: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}\n\n'

/** What servers of either era do wrong with a call, by the name of the tool. */
const wrongs: Readonly<Record<string, Script>> = {
  dies: (_request, response) => void response.destroy(),
  'dies-in-stream'(_request, response) {
    events(response, progress)
    setTimeout(() => response.destroy(), 50)
  },
  'ends-early': (_request, response) => {
    events(response, progress)
    response.end()
  },
  garbage: (_request, response) =>
    void response.writeHead(200, { 'content-type': 'application/json' }).end('<html>{"id":'),
  'garbage-in-stream': (_request, response) => {
    events(response, 'data: not json\n\ndata: [1,2]\n\nid\n\ndata: {"id":{}}\n\n')
    response.end()
  },
  'other-id': (_request, response) => sendJson(response, { jsonrpc: '2.0', id: 'of another', result: {} }),
  large({ body }, response) {
    response.writeHead(200, { 'content-type': 'application/json' })
    response.write(`{"jsonrpc":"2.0","id":${body['id']},"result":{"content":[],"x":"`)
    const part = Buffer.alloc(1_000_000, 'x')
    for (let at = 0; at < 50; at++) response.write(part)
    response.end('"}}')
  },
  'large-in-stream'(_request, response) {
    events(response, 'data: ')
    const part = Buffer.alloc(1_000_000, 'x')
    for (let at = 0; at < 50; at++) response.write(part)
  },
  compressed: (_request, response) => void response.writeHead(200, { 'content-encoding': 'gzip' }).end('x'),
  redirect: (_request, response) => void response.writeHead(307, { location: 'http://127.0.0.1:1/' }).end(),
}
const wrong: Script = (request, response) => {
  const { name } = request.body['params'] as { name: string }
  const script = wrongs[name]
  if (script) script(request, response)
  else sendJson(response, { jsonrpc: '2.0', id: request.body['id'], result: { content: [] } })
}
const result = (request: UpstreamRequest, response: ServerResponse, value: object) =>
  sendJson(response, { jsonrpc: '2.0', id: request.body['id'], result: value })

const question = { method: 'elicitation/create', params: { message: 'Again?', requestedSchema: {} } }
const modernWrongs: Readonly<Record<string, object>> = {
  'asks-endlessly': { resultType: 'input_required', requestState: 'again' },
  'asks-unasked': {
    resultType: 'input_required',
    inputRequests: { a: { ...question, method: 'sampling/createMessage' } },
  },
  'asks-too-much': {
    resultType: 'input_required',
    inputRequests: Object.fromEntries(Array.from({ length: 21 }, (_, at) => [at, question])),
  },
  'asks-for-anything': { resultType: 'input_required', inputRequests: { a: { method: 'tools/call' } } },
  'other-type': { resultType: 'task', taskId: '1' },
}

const legacy = await startScriptedUpstream(legacyScript(() => [tool('dies')], wrong))
const modern = await startScriptedUpstream((request, response) => {
  const { method, params } = request.body
  if (method === 'initialize')
    return sendJson(response, { jsonrpc: '2.0', id: 1, error: { code: -32_601, message: 'no' } }, 404)
  if (method === 'server/discover')
    return result(request, response, {
      resultType: 'complete',
      supportedVersions: ['2026-07-28'],
      capabilities: { tools: {} },
    })
  const own = modernWrongs[(params as { name: string }).name]
  if (own) return result(request, response, own)
  return wrong(request, response)
})
await app.registered({ server_name: 'legacy', url: legacy.url })
await app.registered({ server_name: 'modern', url: modern.url })

type Answer = { id?: unknown; error?: { code: number; message: string } }

/** Returns the last message of an answer: its response. */
const responseIn = (text: string): Answer =>
  text.startsWith('{') ? JSON.parse(text) : JSON.parse([...text.matchAll(/^data: (.+)$/gm)].at(-1)?.[1] ?? '{}')

async function callAsModern(name: string) {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': {},
    progressToken: 1,
  }
  const headers = { accept: 'application/json, text/event-stream', 'mcp-method': 'tools/call', 'mcp-name': name }
  const body = { jsonrpc: '2.0', id: 'mine', method: 'tools/call', params: { name, arguments: {}, _meta } }
  return app.call('ana', 'POST /mcp/legacy', body, { ...headers, 'mcp-protocol-version': '2026-07-28' })
}

const initialize = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: { elicitation: {} }, clientInfo: { name: 't', version: '1' } },
}
const opened = await app.call('ana', 'POST /mcp/modern', initialize)
assert.equal(opened.status, 200, opened.text)
const session = { 'mcp-session-id': opened.headers.get('mcp-session-id') ?? '' }

const callAsLegacy = (name: string) =>
  app.call(
    'ana',
    'POST /mcp/modern',
    { jsonrpc: '2.0', id: 'mine', method: 'tools/call', params: { name, arguments: {}, _meta: { progressToken: 1 } } },
    { accept: 'application/json, text/event-stream', ...session },
  )

for (const [pair, call] of [
  ['a modern client of a legacy server', callAsModern],
  ['a legacy client of a modern server', callAsLegacy],
] as const) {
  for (const name of Object.keys(wrongs)) {
    test(`${pair} gets an error when the server does this: ${name}`, async () => {
      const answer = await call(name)
      const { id, error } = responseIn(answer.text)
      assert.deepEqual([id, error?.code], ['mine', -32_000], answer.text.slice(0, 500))
      assert.match(error?.message ?? '', /MCP server (legacy|modern)/)
      assert.match((await call('fine')).text, /"content":\[\]/)
    })
  }
}

for (const name of Object.keys(modernWrongs)) {
  test(`a legacy client gets an error when a modern server ${name}`, async () => {
    const { id, error } = responseIn((await callAsLegacy(name)).text)
    assert.deepEqual([id, error?.code], ['mine', -32_603])
    assert.match(error?.message ?? '', /MCP server modern/)
  })
}

test('a server that is silent for a minute is given up; each byte starts the minute again, and questions stop it', () => {
  mock.timers.enable({ apis: ['setTimeout'] })
  const watch = watchSilence({ server_name: 'mute' } as RegisteredServer)
  mock.timers.tick(silenceMs - 1)
  watch.heard()
  mock.timers.tick(silenceMs - 1)
  watch.stop()
  mock.timers.tick(10 * silenceMs)
  assert.equal(watch.signal.aborted, false)
  watch.heard()
  mock.timers.tick(silenceMs)
  mock.timers.reset()
  assert.match(String(watch.signal.reason), /MCP server mute did not answer in time/)
})

test('sessions of bridged clients belong to their principal and server', async () => {
  const ping = { jsonrpc: '2.0', id: 1, method: 'ping' }
  assert.equal((await app.call('ana', 'POST /mcp/modern', ping, session)).status, 200)
  const relayed = { 'mcp-session-id': session['mcp-session-id'].replace('bridge.', '') }
  for (const [caller, server, headers] of [
    ['bo', 'modern', session],
    ['ana', 'legacy', session],
    ['ana', 'modern', { 'mcp-session-id': `bridge.${'a'.repeat(80)}` }],
    ['ana', 'modern', relayed],
  ] as const) {
    const answer = await app.call<Answer>(caller, `POST /mcp/${server}`, ping, headers)
    assert.deepEqual([answer.status, answer.body.error?.code], [404, -32_001], `${caller} ${server}`)
  }
})

test('in a bridged session batches, other revisions, foreign methods and resumed streams are refused by name', async () => {
  const ping = { jsonrpc: '2.0', id: 1, method: 'ping' }
  const batch = await app.call('ana', 'POST /mcp/modern', [ping, ping], session)
  assert.deepEqual([batch.status, /batch is not supported/.test(batch.text)], [400, true])
  const other = await app.call('ana', 'POST /mcp/modern', ping, { ...session, 'mcp-protocol-version': '2020-01-01' })
  assert.deepEqual([other.status, /must be one of 2025-11-25/.test(other.text)], [400, true])
  const tasks = await app.call<Answer>('ana', 'POST /mcp/modern', { ...ping, method: 'tasks/list' }, session)
  assert.deepEqual([tasks.status, tasks.body.error?.code], [200, -32_601])
  const resumed = await app.call('ana', 'GET /mcp/modern', undefined, { ...session, 'last-event-id': '7' })
  assert.deepEqual([resumed.status, /last-event-id is not supported/.test(resumed.text)], [400, true])
  const level = { ...ping, method: 'logging/setLevel', params: { level: 'loud' } }
  assert.equal((await app.call<Answer>('ana', 'POST /mcp/modern', level, session)).body.error?.code, -32_602)
})
