import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Client as ModernClient, StreamableHTTPClientTransport as ModernTransport } from '@modelcontextprotocol/client'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
  LoggingMessageNotificationSchema,
  ResourceUpdatedNotificationSchema,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js'
import { startFullModernServer } from '../../../../test/support/mcp/full-modern-server.ts'
import { startMcpApp } from '../../../../test/support/mcp/mcp-app.ts'
import { startEverythingServer } from '../../../../test/support/mcp/real-servers.ts'

const app = await startMcpApp()
const [everything, modern] = await Promise.all([startEverythingServer(), startFullModernServer()])
await app.registered({ server_name: 'everything', url: everything })
await app.registered({ server_name: 'modern', url: modern.url })

const longMs = 60_000
const capabilities = { elicitation: {}, sampling: {}, roots: {} }
const firstText = (result: unknown): string => (result as { content: { text?: string }[] }).content[0]?.text ?? ''
const until = async (isTrue: () => boolean) => {
  while (!isTrue()) await new Promise(resolve => setTimeout(resolve, 20))
}

/** What every pair must be able to do, with the official client of either era. */
interface PairClient {
  listTools(): Promise<{ tools: { name: string }[] }>
  call(
    name: string,
    args?: object,
    options?: { onprogress?: (each: { progress: number }) => void; signal?: AbortSignal },
  ): Promise<unknown>
  close(): Promise<void>
}

async function legacyClient(server: string, own: object = capabilities) {
  const client = new Client({ name: 'test', version: '1' }, { capabilities: own })
  const transport = new StreamableHTTPClientTransport(new URL(`${app.url}/mcp/${server}`), {
    requestInit: { headers: { 'x-api-key': 'ana' } },
  })
  if ('elicitation' in own)
    client.setRequestHandler(ElicitRequestSchema, async () => ({ action: 'accept' as const, content: { name: 'Ana' } }))
  if ('sampling' in own)
    client.setRequestHandler(CreateMessageRequestSchema, async () => ({
      role: 'assistant' as const,
      content: { type: 'text' as const, text: 'sampled text' },
      model: 'test',
    }))
  if ('roots' in own)
    client.setRequestHandler(ListRootsRequestSchema, async () => ({ roots: [{ uri: 'file:///root' }] }))
  await client.connect(transport as Parameters<typeof client.connect>[0])
  const pair: PairClient = {
    listTools: () => client.listTools(),
    call: (name, args = {}, options = {}) =>
      client.callTool({ name, arguments: args as Record<string, unknown> }, undefined, { timeout: longMs, ...options }),
    close: () => client.close(),
  }
  return { client, transport, pair }
}

async function modernClient(server: string, own: object = capabilities) {
  const client = new ModernClient(
    { name: 'test', version: '1' },
    { capabilities: own, versionNegotiation: { mode: { pin: '2026-07-28' } } },
  )
  if ('elicitation' in own)
    client.setRequestHandler('elicitation/create', async () => ({ action: 'accept', content: { name: 'Ana' } }))
  if ('sampling' in own)
    client.setRequestHandler('sampling/createMessage', async () => ({
      role: 'assistant',
      content: { type: 'text', text: 'sampled text' },
      model: 'test',
    }))
  if ('roots' in own) client.setRequestHandler('roots/list', async () => ({ roots: [{ uri: 'file:///root' }] }))
  await client.connect(
    new ModernTransport(new URL(`${app.url}/mcp/${server}`), { requestInit: { headers: { 'x-api-key': 'ana' } } }),
  )
  const pair: PairClient = {
    listTools: () => client.listTools(),
    call: (name, args = {}, options = {}) =>
      client.callTool({ name, arguments: args as Record<string, unknown> }, { timeout: longMs, ...options }),
    close: () => client.close(),
  }
  return { client, pair }
}

const clients = { legacy: legacyClient, modern: modernClient }
const servers = {
  everything: {
    echo: ['echo', { message: 'hi' }, /hi/],
    steps: ['trigger-long-running-operation', { duration: 0.2, steps: 2 }],
    slow: ['trigger-long-running-operation', { duration: 600, steps: 6000 }],
    ask: ['trigger-elicitation-request', /User (provided|accepted)/i],
  },
  modern: {
    echo: ['echo', { word: 'hi' }, /^hi$/],
    steps: ['steps', {}],
    slow: ['wait', {}],
    ask: ['confirm', /accept Ana/],
  },
} as const

for (const era of ['legacy', 'modern'] as const) {
  for (const name of ['everything', 'modern'] as const) {
    test(`a ${era} client lists, calls, follows, cancels and answers tools of ${name}`, async () => {
      const { echo, steps, slow, ask } = servers[name]
      // Without roots: `everything` asks for them 350 ms after the start, whatever it does then, and the modern client of the SDK
      // reports every question as progress, too.
      const { pair } = await clients[era](name, { elicitation: {} })
      assert.ok((await pair.listTools()).tools.some(tool => tool.name === echo[0]))
      assert.match(firstText(await pair.call(echo[0], echo[1])), echo[2])

      const progress: number[] = []
      await pair.call(steps[0], steps[1], { onprogress: each => progress.push(each.progress) })
      assert.deepEqual(progress, [1, 2])

      assert.match(JSON.stringify(await pair.call(ask[0])), ask[1])

      const cancel = new AbortController()
      let started = false
      const call = pair.call(slow[0], slow[1], {
        signal: cancel.signal,
        onprogress: () => {
          started = true
        },
      })
      const failed = assert.rejects(call)
      const before = modern.seen.cancelled
      await until(() => started)
      cancel.abort()
      await failed
      if (name === 'modern') await until(() => modern.seen.cancelled > before)
      assert.match(firstText(await pair.call(echo[0], echo[1])), echo[2])
      await pair.close()
    })
  }
}

test('a legacy client uses prompts, resources, completion, sampling, roots and several rounds of a modern server', async () => {
  const { client, pair } = await legacyClient('modern')
  assert.deepEqual(client.getServerVersion(), { name: 'full-modern', version: '2.0.0' })
  assert.equal(client.getInstructions(), 'Use the tools.')
  const { messages } = await client.getPrompt({ name: 'greet', arguments: { who: 'Bo' } })
  assert.match(JSON.stringify(messages), /Greet Bo/)
  assert.deepEqual(
    (await client.listPrompts()).prompts.map(({ name }) => name),
    ['greet'],
  )
  assert.match(JSON.stringify(await client.listResources()), /memo:\/\/note/)
  assert.match(JSON.stringify(await client.listResourceTemplates()), /memo:\/\/pages\/\{page\}/)
  assert.match(JSON.stringify(await client.readResource({ uri: 'memo://pages/one' })), /page one/)
  await assert.rejects(client.readResource({ uri: 'memo://none' }), { code: -32_602 })
  const completed = await client.complete({
    ref: { type: 'ref/resource', uri: 'memo://pages/{page}' },
    argument: { name: 'page', value: '' },
  })
  assert.deepEqual(completed.completion.values, ['one', 'two'])
  assert.equal(firstText(await pair.call('sample')), 'sampled sampled text')
  assert.equal(firstText(await pair.call('roots')), 'roots file:///root')
  assert.equal(firstText(await pair.call('two-rounds')), 'both rounds')
  assert.equal(((await pair.call('fail')) as { isError: boolean }).isError, true)
  await client.ping()
  await client.close()
})

test('parameters that a modern server wants in headers are sent for a legacy client', async () => {
  const { client, pair } = await legacyClient('modern', {})
  assert.equal(firstText(await pair.call('marked', { region: 'größe' })), 'größe')
  assert.deepEqual(modern.seen.regions.slice(-1), [`=?base64?${Buffer.from('größe').toString('base64')}?=`])
  await client.close()
})

test('a question that a legacy client has no capability for is an error of the call', async () => {
  const { client, pair } = await legacyClient('modern', {})
  for (const name of ['confirm', 'sample', 'roots']) await assert.rejects(pair.call(name), /capability|capabilities/i)
  assert.equal(firstText(await pair.call('echo', { word: 'still here' })), 'still here')
  await client.close()
})

test('a legacy client gets logs of its level, changed lists and updated resources of a modern server', async () => {
  const { client, pair, transport } = await legacyClient('modern')
  const logs: unknown[] = []
  const events: string[] = []
  client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => void logs.push(params.data))
  client.setNotificationHandler(ToolListChangedNotificationSchema, () => void events.push('tools'))
  client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => void events.push(params.uri))
  await pair.call('steps')
  await client.setLoggingLevel('error')
  await pair.call('steps')
  assert.deepEqual(logs, ['step done'])
  await until(() => {
    modern.notify.toolsChanged()
    return events.includes('tools')
  })
  await client.subscribeResource({ uri: 'memo://note' })
  modern.notify.resourceUpdated('memo://other')
  modern.notify.resourceUpdated('memo://note')
  await until(() => events.includes('memo://note'))
  assert.ok(!events.includes('memo://other'))
  await client.unsubscribeResource({ uri: 'memo://note' })
  const { sessionId = '' } = transport
  await transport.terminateSession()
  const ping = { jsonrpc: '2.0', id: 1, method: 'ping' }
  const ended = await app.call('ana', 'POST /mcp/modern', ping, { 'mcp-session-id': sessionId })
  assert.deepEqual([ended.status, /-32001.*send initialize again/.test(ended.text)], [404, true])
  const without = await app.call('ana', 'POST /mcp/modern', ping)
  assert.deepEqual([without.status, /mcp-session-id is missing/.test(without.text)], [400, true])
  await client.close()
})

test('a modern client uses prompts, resources, completion, sampling, logs and subscriptions of a legacy server', async () => {
  const { client, pair } = await modernClient('everything')
  assert.match(client.getServerVersion()?.name ?? '', /everything/)
  const { prompts } = await client.listPrompts()
  assert.ok(prompts.length > 0)
  assert.ok((await client.getPrompt({ name: 'simple-prompt' })).messages.length > 0)
  const { resources } = await client.listResources()
  const [resource] = resources
  assert.ok(resource)
  assert.ok((await client.readResource({ uri: resource.uri })).contents.length > 0)
  await assert.rejects(client.readResource({ uri: 'demo://none' }), { code: -32_602 })
  assert.match(JSON.stringify(await pair.call('trigger-sampling-request', { prompt: 'hi' })), /sampled text/)
  assert.match(JSON.stringify(await pair.call('get-roots-list')), /file:\/\/\/root/)
  await client.close()
})

test('a legacy client may answer, cancel and subscribe at another process than that of its call', async () => {
  const other = await app.startProcess()
  const client = new Client({ name: 'test', version: '1' }, { capabilities })
  client.setRequestHandler(ElicitRequestSchema, async () => ({
    action: 'accept' as const,
    content: { name: 'x'.repeat(20_000) },
  }))
  const updated: string[] = []
  client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => void updated.push(params.uri))
  const transport = new StreamableHTTPClientTransport(new URL(`${app.url}/mcp/modern`), {
    requestInit: { headers: { 'x-api-key': 'ana' } },
    // Requests with a response stay; answers, cancellations and subscriptions go to the other process.
    fetch: (url, init) => {
      const body = typeof init?.body === 'string' ? (JSON.parse(init.body) as Record<string, unknown>) : {}
      const isMoved =
        init?.method === 'POST' &&
        (body['id'] === undefined || body['result'] || body['method'] === 'resources/subscribe')
      return fetch(isMoved ? String(url).replace(app.url, other) : url, init)
    },
  })
  await client.connect(transport as Parameters<typeof client.connect>[0])
  const answered = await client.callTool({ name: 'confirm', arguments: {} }, undefined, { timeout: longMs })
  assert.match(firstText(answered), /^accept x{20000}$/)
  const cancel = new AbortController()
  let isStarted = false
  const call = client.callTool({ name: 'wait', arguments: {} }, undefined, {
    signal: cancel.signal,
    timeout: longMs,
    onprogress: () => {
      isStarted = true
    },
  })
  const failed = assert.rejects(call)
  const before = modern.seen.cancelled
  await until(() => isStarted)
  cancel.abort()
  await failed
  await until(() => modern.seen.cancelled > before)
  await client.subscribeResource({ uri: 'memo://note' })
  await until(() => {
    modern.notify.resourceUpdated('memo://note')
    return updated.includes('memo://note')
  })
  await transport.terminateSession()
  await client.close()
})
