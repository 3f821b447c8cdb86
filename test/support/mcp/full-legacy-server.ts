import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after } from 'node:test'
import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import {
  CallToolRequestSchema,
  CompleteRequestSchema,
  GetPromptRequestSchema,
  ListPromptsRequestSchema,
  ListResourcesRequestSchema,
  ListResourceTemplatesRequestSchema,
  ListToolsRequestSchema,
  McpError,
  ReadResourceRequestSchema,
  SubscribeRequestSchema,
  UnsubscribeRequestSchema,
} from '@modelcontextprotocol/sdk/types.js'

type Extra = Parameters<Parameters<Server['setRequestHandler']>[1]>[1]

const text = (value: string) => ({ content: [{ type: 'text' as const, text: value }] })
const nameForm = { type: 'object' as const, properties: { name: { type: 'string' as const } }, required: ['name'] }
const noInput = { type: 'object' as const, properties: {} }
const word = { type: 'object' as const, properties: { word: { type: 'string' } }, required: ['word'] }

/**
 * Starts a legacy server of the official SDK, with sessions, that has what the full modern server has; stopped after
 * the last test.
 */
export async function startFullLegacyServer() {
  const seen = { cancelled: 0, sessions: 0 }
  const sessions = new Map<string, { server: Server; transport: StreamableHTTPServerTransport }>()
  const servers = new Set<Server>()
  const http = createServer((request, response) => {
    void answer().catch(() => response.destroy())
    async function answer(): Promise<void> {
      const known = sessions.get(String(request.headers['mcp-session-id']))
      if (known) return known.transport.handleRequest(request, response)
      if (request.headers['mcp-session-id'] !== undefined) return void response.writeHead(404).end()
      const server = fullServer(seen)
      servers.add(server)
      const transport = new StreamableHTTPServerTransport({
        sessionIdGenerator: randomUUID,
        onsessioninitialized: id => {
          seen.sessions++
          sessions.set(id, { server, transport })
        },
      })
      await server.connect(transport as Parameters<typeof server.connect>[0])
      await transport.handleRequest(request, response)
    }
  })
  await new Promise<void>(resolve => http.listen(0, '127.0.0.1', resolve))
  after(async () => {
    for (const server of servers) await server.close()
    http.closeAllConnections()
    http.close()
  })
  return {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`,
    seen,
    /** Forgets all sessions, as a restarted server does. */
    forget: () => sessions.clear(),
    async toolsChanged(): Promise<void> {
      for (const { server } of sessions.values()) await server.sendToolListChanged()
    },
    async resourceUpdated(uri: string): Promise<void> {
      for (const { server } of sessions.values()) await server.sendResourceUpdated({ uri })
    },
  }
}

function fullServer(seen: { cancelled: number }): Server {
  const server = new Server(
    { name: 'full-legacy', version: '1.0.0' },
    {
      instructions: 'Use the tools.',
      capabilities: {
        tools: { listChanged: true },
        prompts: {},
        resources: { subscribe: true, listChanged: true },
        completions: {},
        logging: {},
      },
    },
  )
  const names = ['fail', 'steps', 'wait', 'confirm', 'two-rounds', 'sample', 'roots', 'unrelated', 'url', 'early-url']
  server.setRequestHandler(ListToolsRequestSchema, async () => ({
    tools: [{ name: 'echo', inputSchema: word }, ...names.map(name => ({ name, inputSchema: noInput }))],
  }))
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, extra) => {
    const call = calls[params.name]
    if (!call) throw new McpError(-32_602, `unknown tool ${params.name}`)
    return call({ server, extra: extra as unknown as Extra, seen, args: params.arguments ?? {} })
  })
  serveOthers(server)
  return server
}

function serveOthers(server: Server): void {
  server.setRequestHandler(ListPromptsRequestSchema, async () => ({ prompts: [{ name: 'greet' }] }))
  server.setRequestHandler(GetPromptRequestSchema, async ({ params }) => ({
    messages: [{ role: 'user', content: { type: 'text', text: `Greet ${params.arguments?.['who']}` } }],
  }))
  server.setRequestHandler(ListResourcesRequestSchema, async () => ({
    resources: [{ uri: 'memo://note', name: 'note' }],
  }))
  server.setRequestHandler(ListResourceTemplatesRequestSchema, async () => ({
    resourceTemplates: [{ uriTemplate: 'memo://pages/{page}', name: 'page' }],
  }))
  server.setRequestHandler(ReadResourceRequestSchema, async ({ params: { uri } }) => {
    if (uri === 'memo://note') return { contents: [{ uri, text: 'a note' }] }
    throw new McpError(-32_002, 'resource not found', { uri })
  })
  server.setRequestHandler(CompleteRequestSchema, async () => ({ completion: { values: ['one', 'two'] } }))
  server.setRequestHandler(SubscribeRequestSchema, async () => ({}))
  server.setRequestHandler(UnsubscribeRequestSchema, async () => ({}))
}

interface Call {
  readonly server: Server
  readonly extra: Extra
  readonly seen: { cancelled: number }
  readonly args: Record<string, unknown>
}

const ask = ({ server, extra }: Call, message: string) =>
  server.elicitInput({ message, requestedSchema: nameForm }, { relatedRequestId: extra.requestId })

const calls: Record<string, (call: Call) => Promise<ReturnType<typeof text> & { isError?: boolean }>> = {
  echo: async ({ args }) => text(String(args['word'])),
  fail: async () => ({ ...text('failed'), isError: true }),
  async steps({ extra }) {
    const progressToken = extra._meta?.progressToken
    for (const progress of progressToken === undefined ? [] : [1, 2])
      await extra.sendNotification({
        method: 'notifications/progress',
        params: { progressToken: progressToken ?? '', progress, total: 2 },
      })
    for (const level of ['debug', 'info', 'error'] as const)
      await extra.sendNotification({ method: 'notifications/message', params: { level, data: 'step done' } })
    return text('done')
  },
  async wait({ extra, seen }) {
    const progressToken = extra._meta?.progressToken
    if (progressToken !== undefined)
      await extra.sendNotification({ method: 'notifications/progress', params: { progressToken, progress: 1 } })
    await new Promise<void>(resolve => extra.signal.addEventListener('abort', () => resolve(), { once: true }))
    seen.cancelled++
    return text('cancelled')
  },
  async confirm(call) {
    const { action, content } = await ask(call, 'Your name?')
    return text(`${action} ${content?.['name']}`)
  },
  async 'two-rounds'(call) {
    await ask(call, 'First?')
    await ask(call, 'Second?')
    return text('both rounds')
  },
  /** Its question comes on the stream of the session. */
  async unrelated({ server }) {
    const { action } = await server.elicitInput({ message: 'Your name?', requestedSchema: nameForm })
    return text(action)
  },
  async url({ server, extra }) {
    const params = { mode: 'url' as const, message: 'Sign in', url: 'https://example.com/login', elicitationId: 'e-1' }
    const { action } = await server.elicitInput(params, { relatedRequestId: extra.requestId })
    return text(action)
  },
  async 'early-url'() {
    const elicitation = { mode: 'url', message: 'Sign in', url: 'https://example.com/login', elicitationId: 'e-1' }
    throw new McpError(-32_042, 'sign in first', { elicitations: [elicitation] })
  },
  async sample({ server, extra }) {
    const messages = [{ role: 'user' as const, content: { type: 'text' as const, text: 'hi' } }]
    const { content } = await server.createMessage({ messages, maxTokens: 10 }, { relatedRequestId: extra.requestId })
    return text(`sampled ${(content as { text?: string }).text}`)
  },
  async roots({ server, extra }) {
    const { roots } = await server.listRoots(undefined, { relatedRequestId: extra.requestId })
    return text(`roots ${roots.map(({ uri }) => uri).join(' ')}`)
  },
}
