import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startFullLegacyServer } from '../../../../test/support/mcp/full-legacy-server.ts'
import { startFullModernServer } from '../../../../test/support/mcp/full-modern-server.ts'
import { startMcpApp } from '../../../../test/support/mcp/mcp-app.ts'

const app = await startMcpApp()
const [legacy, modern] = await Promise.all([startFullLegacyServer(), startFullModernServer()])
await app.registered({ server_name: 'legacy', url: legacy.url })
await app.registered({ server_name: 'modern', url: modern.url })

const prefix = 'io.modelcontextprotocol/'
const version = '2026-07-28'
const every = { elicitation: {}, sampling: {}, roots: {} }
let lastId = 0

interface Sent {
  readonly method: string
  readonly params?: Record<string, unknown>
  readonly capabilities?: object
  /** Changes of `_meta`; undefined removes a field. */
  readonly meta?: Record<string, unknown>
  /** Changes of headers; undefined removes one. */
  readonly headers?: Record<string, string | undefined>
}

const nameOf = (method: string, params: Record<string, unknown>): string | undefined =>
  ({ 'tools/call': params['name'], 'prompts/get': params['name'], 'resources/read': params['uri'] })[method] as
    | string
    | undefined

/** Sends a request as a modern client. Returns the response and the notifications before it. */
async function send(server: string, sent: Sent, caller: 'ana' | 'bo' = 'ana') {
  const { method, params = {}, capabilities = {}, meta = {} } = sent
  const id = ++lastId
  const _meta = {
    [`${prefix}protocolVersion`]: version,
    [`${prefix}clientCapabilities`]: capabilities,
    [`${prefix}clientInfo`]: { name: 'test', version: '1' },
    ...meta,
  }
  const name = nameOf(method, params)
  const headers = {
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': version,
    'mcp-method': method,
    ...(name !== undefined && { 'mcp-name': name }),
    ...sent.headers,
  }
  const given = Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== undefined))
  const body = { jsonrpc: '2.0', id, method, params: { ...params, _meta } }
  const answer = await app.call(caller, `POST /mcp/${server}`, body, given as Record<string, string>)
  const messages = answer.text.startsWith('{')
    ? [answer.body]
    : [...answer.text.matchAll(/^data: (.+)$/gm)].map(([, data]) => JSON.parse(data ?? '') as Record<string, unknown>)
  const response = messages.find(message => message['id'] === id) ?? {}
  return {
    status: answer.status,
    text: answer.text,
    notifications: messages.filter(message => message['method'] !== undefined),
    result: (response['result'] ?? {}) as Record<string, unknown>,
    error: (response['error'] ?? {}) as { code?: number; message?: string; data?: Record<string, unknown> },
  }
}

const call = (name: string, more: Omit<Partial<Sent>, 'method'> = {}, args: object = {}): Sent => ({
  method: 'tools/call',
  ...more,
  params: { name, arguments: args, ...more.params },
})

interface Case {
  readonly guarantee: string
  readonly sent: Sent
  /** Part of the result, by field. */
  readonly result?: Record<string, unknown>
  readonly matches?: RegExp
  readonly status?: number
  readonly code?: number
}

/** Cases that hold for a server of either era. */
const cases: readonly Case[] = [
  {
    guarantee: 'discover names the revision',
    sent: { method: 'server/discover' },
    result: { supportedVersions: [version] },
  },
  {
    guarantee: 'discover has the instructions',
    sent: { method: 'server/discover' },
    result: { instructions: 'Use the tools.' },
  },
  { guarantee: 'discover has the capabilities', sent: { method: 'server/discover' }, matches: /"subscribe":true/ },
  {
    guarantee: 'discover has the identity',
    sent: { method: 'server/discover' },
    matches: /serverInfo":\{"name":"full-/,
  },
  { guarantee: 'discover has hints for caches', sent: { method: 'server/discover' }, matches: /"cacheScope":"p/ },
  { guarantee: 'a list of tools is complete', sent: { method: 'tools/list' }, result: { resultType: 'complete' } },
  { guarantee: 'a list of tools has hints for caches', sent: { method: 'tools/list' }, matches: /"ttlMs":\d+/ },
  { guarantee: 'a list of prompts is complete', sent: { method: 'prompts/list' }, result: { resultType: 'complete' } },
  { guarantee: 'a list of resources is complete', sent: { method: 'resources/list' }, matches: /memo:\/\/note/ },
  { guarantee: 'a list of templates is complete', sent: { method: 'resources/templates/list' }, matches: /\{page\}/ },
  {
    guarantee: 'a resource is read',
    sent: { method: 'resources/read', params: { uri: 'memo://note' } },
    matches: /a note/,
  },
  {
    guarantee: 'a resource has hints for caches',
    sent: { method: 'resources/read', params: { uri: 'memo://note' } },
    matches: /"cacheScope"/,
  },
  {
    guarantee: 'an unknown resource is -32602',
    sent: { method: 'resources/read', params: { uri: 'memo://none' } },
    code: -32_602,
  },
  {
    guarantee: 'a prompt is filled',
    sent: { method: 'prompts/get', params: { name: 'greet', arguments: { who: 'Bo' } } },
    matches: /Greet Bo/,
  },
  {
    guarantee: 'an argument is completed',
    sent: {
      method: 'completion/complete',
      params: { ref: { type: 'ref/resource', uri: 'memo://pages/{page}' }, argument: { name: 'page', value: '' } },
    },
    matches: /"values":\["one","two"\]/,
  },
  { guarantee: 'a tool is called', sent: call('echo', {}, { word: 'hi' }), matches: /"text":"hi"/ },
  {
    guarantee: 'the result of a tool is complete',
    sent: call('echo', {}, { word: 'hi' }),
    result: { resultType: 'complete' },
  },
  { guarantee: 'a call has no hints for caches', sent: call('echo', {}, { word: 'hi' }), result: { ttlMs: undefined } },
  { guarantee: 'a failed tool is a result', sent: call('fail'), result: { isError: true } },
  { guarantee: 'an unknown method is 404', sent: { method: 'no/such' }, status: 404, code: -32_601 },
  { guarantee: 'ping does not exist', sent: { method: 'ping' }, status: 404, code: -32_601 },
  {
    guarantee: 'logging/setLevel does not exist',
    sent: { method: 'logging/setLevel', params: { level: 'info' } },
    status: 404,
    code: -32_601,
  },
  {
    guarantee: 'resources/subscribe does not exist',
    sent: { method: 'resources/subscribe', params: { uri: 'memo://note' } },
    status: 404,
    code: -32_601,
  },
  {
    guarantee: 'a version that is not served is 400',
    sent: {
      method: 'tools/list',
      meta: { [`${prefix}protocolVersion`]: '2030-01-01' },
      headers: { 'mcp-protocol-version': '2030-01-01' },
    },
    status: 400,
    code: -32_022,
  },
  {
    guarantee: 'a version header that differs is 400',
    sent: { method: 'tools/list', headers: { 'mcp-protocol-version': '2025-11-25' } },
    status: 400,
    code: -32_020,
  },
  {
    guarantee: 'a missing version header is 400',
    sent: { method: 'tools/list', headers: { 'mcp-protocol-version': undefined } },
    status: 400,
    code: -32_020,
  },
  {
    guarantee: 'a method header that differs is 400',
    sent: { method: 'tools/list', headers: { 'mcp-method': 'tools/call' } },
    status: 400,
    code: -32_020,
  },
  {
    guarantee: 'a missing method header is 400',
    sent: { method: 'tools/list', headers: { 'mcp-method': undefined } },
    status: 400,
    code: -32_020,
  },
  {
    guarantee: 'a name header that differs is 400',
    sent: call('echo', { headers: { 'mcp-name': 'fail' } }, { word: 'hi' }),
    status: 400,
    code: -32_020,
  },
  {
    guarantee: 'a missing name header is 400',
    sent: call('echo', { headers: { 'mcp-name': undefined } }, { word: 'hi' }),
    status: 400,
    code: -32_020,
  },
  {
    guarantee: 'an encoded name header is decoded',
    sent: call('echo', { headers: { 'mcp-name': `=?base64?${btoa('echo')}?=` } }, { word: 'hi' }),
    matches: /"text":"hi"/,
  },
  {
    guarantee: 'the method header is case-sensitive',
    sent: { method: 'tools/list', headers: { 'mcp-method': 'Tools/List' } },
    status: 400,
    code: -32_020,
  },
  {
    guarantee: 'missing capabilities are 400',
    sent: { method: 'tools/list', meta: { [`${prefix}clientCapabilities`]: undefined } },
    status: 400,
    code: -32_602,
  },
  {
    guarantee: 'missing client information is accepted',
    sent: { method: 'tools/list', meta: { [`${prefix}clientInfo`]: undefined } },
    result: { resultType: 'complete' },
  },
  {
    guarantee: 'a session id of a client is ignored',
    sent: { method: 'tools/list', headers: { 'last-event-id': '7' } },
    result: { resultType: 'complete' },
  },
  {
    guarantee: 'an unknown level of logs is rejected',
    sent: { method: 'tools/list', meta: { [`${prefix}logLevel`]: 'loud' } },
    status: 400,
    code: -32_602,
  },
  {
    guarantee: 'trace context is accepted',
    sent: { method: 'tools/list', meta: { traceparent: '00-aa-bb-01' } },
    result: { resultType: 'complete' },
  },
  {
    guarantee: 'an elicitation is an input request',
    sent: call('confirm', { capabilities: every }),
    matches: /"resultType":"input_required".*"method":"elicitation\/create"|"inputRequests".*"elicitation\/create"/,
  },
  {
    guarantee: 'an elicitation has no id',
    sent: call('confirm', { capabilities: every }),
    matches: /^(?!.*elicitationId).*Your name\?/s,
  },
  {
    guarantee: 'sampling is an input request',
    sent: call('sample', { capabilities: every }),
    matches: /"method":"sampling\/createMessage"/,
  },
  {
    guarantee: 'roots are an input request',
    sent: call('roots', { capabilities: every }),
    matches: /"method":"roots\/list"/,
  },
  {
    guarantee: 'input that is required has no hints for caches',
    sent: call('confirm', { capabilities: every }),
    result: { ttlMs: undefined },
  },
]

for (const server of ['legacy', 'modern']) {
  for (const { guarantee, sent, result = {}, matches, status = 200, code } of cases) {
    test(`a modern client of a ${server} server: ${guarantee}`, async () => {
      const answer = await send(server, sent)
      assert.equal(answer.status, status, answer.text)
      if (code === undefined) assert.deepEqual(answer.error, {}, answer.text)
      else assert.equal(answer.error.code, code, answer.text)
      for (const [field, value] of Object.entries(result)) assert.deepEqual(answer.result[field], value, answer.text)
      if (matches) assert.match(answer.text, matches)
    })
  }
}

/** Calls a tool and answers its questions until its result. */
async function play(server: string, name: string, answers: readonly object[], capabilities: object = every) {
  let more: Record<string, unknown> = {}
  let rounds = 0
  for (const answer of [...answers, undefined]) {
    const { result, error, text } = await send(server, call(name, { capabilities, params: more }))
    if (result['resultType'] !== 'input_required') return { result, error, text, rounds }
    assert.ok(answer, text)
    rounds++
    const keys = Object.keys(result['inputRequests'] as object)
    more = {
      inputResponses: Object.fromEntries(keys.map(key => [key, answer])),
      ...(result['requestState'] !== undefined && { requestState: result['requestState'] }),
    }
  }
  throw new Error('not reached')
}

const accept = { action: 'accept', content: { name: 'Ana' } }
const played = [
  ['an accepted elicitation', 'confirm', [accept], /accept Ana/],
  ['a declined elicitation', 'confirm', [{ action: 'decline' }], /decline/],
  ['two rounds', 'two-rounds', [accept, accept], /both rounds/],
  [
    'a completion',
    'sample',
    [{ role: 'assistant', content: { type: 'text', text: 'yes' }, model: 'm' }],
    /sampled yes/,
  ],
  ['roots', 'roots', [{ roots: [{ uri: 'file:///a' }] }], /roots file:\/\/\/a/],
] as const
for (const server of ['legacy', 'modern']) {
  for (const [guarantee, name, answers, expected] of played) {
    test(`a modern client of a ${server} server answers ${guarantee}`, async () => {
      const { text, rounds } = await play(server, name, answers)
      assert.match(text, expected)
      assert.equal(rounds, answers.length)
    })
  }
}

test('a question on the stream of a legacy session, and one at a URL, are input requests', async () => {
  assert.match((await play('legacy', 'unrelated', [accept])).text, /accept/)
  const url = { elicitation: { url: {} } }
  assert.match((await play('legacy', 'url', [{ action: 'accept' }], url)).text, /accept/)
  const early = await send('legacy', call('early-url', { capabilities: url }))
  assert.match(early.text, /"input_required".*"mode":"url"/)
  assert.doesNotMatch(early.text, /elicitationId|requestState/)
  const unable = await send('legacy', call('early-url', { capabilities: every }))
  assert.deepEqual([unable.status, unable.error.code], [400, -32_021])
  assert.deepEqual(unable.error.data, { requiredCapabilities: { elicitation: { url: {} } } })
})

test('the state of a question belongs to its principal, its request and its server, and works once', async () => {
  const asked = await send('legacy', call('confirm', { capabilities: every }))
  const requestState = asked.result['requestState']
  const [key = ''] = Object.keys(asked.result['inputRequests'] as object)
  const params = { requestState, inputResponses: { [key]: accept } }
  const retry = call('confirm', { capabilities: every, params })
  for (const foreign of [
    await send('legacy', retry, 'bo'),
    await send('legacy', call('confirm', { capabilities: every, params: { ...params, requestState: 'x' } })),
    await send('legacy', call('roots', { capabilities: every, params })),
    await send('legacy', call('confirm', { capabilities: every, params: { ...params, arguments: { more: 1 } } })),
  ])
    assert.deepEqual([foreign.error.code, /requestState is not known/.test(foreign.text)], [-32_602, true])
  const bad = await send(
    'legacy',
    call('confirm', { capabilities: every, params: { requestState, inputResponses: 7 } }),
  )
  assert.match(bad.text, /inputResponses must be an object/)
  const missing = await send(
    'legacy',
    call('confirm', { capabilities: every, params: { requestState, inputResponses: {} } }),
  )
  assert.equal(missing.result['resultType'], 'input_required')
  const again = { ...params, requestState: missing.result['requestState'] }
  assert.match((await send('legacy', call('confirm', { capabilities: every, params: again }))).text, /accept Ana/)
  assert.equal((await send('legacy', call('confirm', { capabilities: every, params: again }))).error.code, -32_602)
})

test('progress has the token of the client, and logs only come for a level, from this level on', async () => {
  const quiet = await send('legacy', call('steps'))
  assert.deepEqual(quiet.notifications, [])
  const meta = { progressToken: 'mine', [`${prefix}logLevel`]: 'info' }
  const { notifications } = await send('legacy', call('steps', { meta, capabilities: every }))
  const params = notifications.map(each => each['params'] as { progressToken?: string; level?: string })
  assert.deepEqual(
    params.map(({ progressToken, level }) => progressToken ?? level),
    ['mine', 'mine', 'info', 'error'],
  )
})

test('a client without capabilities gets an error of the server instead of a question', async () => {
  const { result, text } = await send('legacy', call('sample'))
  assert.notEqual(result['resultType'], 'input_required')
  assert.match(text, /not support/)
})

test('sessions of a legacy server that forgot them are opened again', async () => {
  await send('legacy', call('echo', { capabilities: every }, { word: 'a' }))
  legacy.forget()
  for (const capabilities of [every, {}])
    assert.match((await send('legacy', call('echo', { capabilities }, { word: 'again' }))).text, /again/)
})

test('sessions of a legacy server are used again by the next request', async () => {
  await send('legacy', call('echo', { capabilities: every }, { word: 'a' }))
  const before = legacy.seen.sessions
  for (let at = 0; at < 5; at++) await send('legacy', call('echo', { capabilities: every }, { word: 'a' }))
  assert.equal(legacy.seen.sessions, before)
})

test('a subscription at a legacy server is acknowledged first and has what it asked for', async () => {
  const listening = new AbortController()
  const body = {
    jsonrpc: '2.0',
    id: 'sub',
    method: 'subscriptions/listen',
    params: {
      notifications: { toolsListChanged: true, promptsListChanged: true, resourceSubscriptions: ['memo://note'] },
      _meta: { [`${prefix}protocolVersion`]: version, [`${prefix}clientCapabilities`]: {} },
    },
  }
  const answer = await fetch(`${app.url}/mcp/legacy`, {
    method: 'POST',
    headers: {
      'x-api-key': 'ana',
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': version,
      'mcp-method': 'subscriptions/listen',
    },
    body: JSON.stringify(body),
    signal: listening.signal,
  })
  let text = ''
  const reading = (async () => {
    for await (const chunk of answer.body ?? []) text += Buffer.from(chunk).toString()
  })().catch(() => undefined)
  const until = async (pattern: RegExp, again: () => Promise<void> = async () => undefined) => {
    while (!pattern.test(text)) {
      await again()
      await new Promise(resolve => setTimeout(resolve, 20))
    }
  }
  await until(/acknowledged/)
  const first = JSON.parse(/^data: (.+)$/m.exec(text)?.[1] ?? '') as { params: object }
  assert.deepEqual(first.params, {
    notifications: { toolsListChanged: true, resourceSubscriptions: ['memo://note'] },
    _meta: { [`${prefix}subscriptionId`]: 'sub' },
  })
  await until(/tools\/list_changed/, legacy.toolsChanged)
  await legacy.resourceUpdated('memo://other')
  await until(/resources\/updated.*memo:\/\/note/, () => legacy.resourceUpdated('memo://note'))
  assert.doesNotMatch(text, /memo:\/\/other/)
  listening.abort()
  await reading
})
