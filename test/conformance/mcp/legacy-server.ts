import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after } from 'node:test'
import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import { type EventStore, StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import {
  CallToolRequestSchema,
  type CallToolResult,
  CompleteRequestSchema,
  type ElicitRequestFormParams,
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
import {
  contentsOf,
  fixedResults,
  forms,
  formWith,
  isFixed,
  listedTools,
  logLines,
  messagesOf,
  prompts,
  resources,
  resourceTemplates,
  stepsOf,
  text,
} from './content.ts'

type Extra = Parameters<Parameters<Server['setRequestHandler']>[1]>[1]
type Form = ElicitRequestFormParams['requestedSchema']

interface Call {
  readonly server: Server
  /** Every session has its own server, and all of them have changed lists. */
  readonly servers: readonly Server[]
  readonly extra: Extra
  readonly args: Readonly<Record<string, unknown>>
}

async function elicited({ server, extra }: Call, message: string, schema: object): Promise<CallToolResult> {
  const { action, content = {} } = await server.elicitInput(
    { message, requestedSchema: schema as Form },
    { relatedRequestId: extra.requestId },
  )
  return text(`Answer: action=${action}, content=${JSON.stringify(content)}`)
}

async function sampled({ server, extra }: Call, prompt: string): Promise<CallToolResult> {
  const messages = [{ role: 'user' as const, content: { type: 'text' as const, text: prompt } }]
  const { content } = await server.createMessage({ messages, maxTokens: 100 }, { relatedRequestId: extra.requestId })
  return text(`LLM response: ${(content as { text?: string }).text}`)
}

async function rootsOf({ server, extra }: Call): Promise<CallToolResult> {
  const { roots } = await server.listRoots(undefined, { relatedRequestId: extra.requestId })
  return text(`Roots: ${JSON.stringify(roots)}`)
}

const calls: Readonly<Record<string, (call: Call) => Promise<CallToolResult>>> = {
  async test_tool_with_logging({ extra }) {
    for (const data of logLines)
      await extra.sendNotification({ method: 'notifications/message', params: { level: 'info', data } })
    return text('Tool with logging executed successfully')
  },
  async test_tool_with_progress({ extra }) {
    const token = extra._meta?.progressToken ?? 0
    for (const params of stepsOf(token)) await extra.sendNotification({ method: 'notifications/progress', params })
    return text(String(token))
  },
  async test_reconnection({ extra }) {
    extra.closeSSEStream?.()
    await new Promise(resolve => setTimeout(resolve, 100))
    return text('Reconnected')
  },
  test_sampling: call => sampled(call, String(call.args['prompt'])),
  test_elicitation: call => elicited(call, String(call.args['message']), formWith('username')),
  test_elicitation_sep1034_defaults: call => elicited(call, 'Review', forms.test_elicitation_sep1034_defaults),
  test_elicitation_sep1330_enums: call => elicited(call, 'Select', forms.test_elicitation_sep1330_enums),
  async test_trigger_tool_change({ servers }) {
    await Promise.all(servers.map(each => each.sendToolListChanged()))
    return text('changed')
  },
  async test_trigger_prompt_change({ servers }) {
    await Promise.all(servers.map(each => each.sendPromptListChanged()))
    return text('changed')
  },
  greet: async ({ args }) => text(`Hello, ${args['name']}!`),
  async slow_compute({ args }) {
    await new Promise(resolve => setTimeout(resolve, Math.min(Number(args['seconds']), 1) * 1_000))
    return text(`Computed ${args['label']}`)
  },
  failing_job: async () => ({ ...text('The job failed'), isError: true }),
  // What the suite of the modern era calls; through the proxy its client is answered by questions of a session.
  test_logging_tool: async ({ extra }) => {
    await extra.sendNotification({ method: 'notifications/message', params: { level: 'info', data: 'Tool executed' } })
    return text('logged')
  },
  async test_streaming_elicitation(call) {
    const progressToken = call.extra._meta?.progressToken ?? 0
    await call.extra.sendNotification({ method: 'notifications/progress', params: { progressToken, progress: 1 } })
    return elicited(call, 'Your name?', formWith('name'))
  },
  test_input_required_result_elicitation: call => elicited(call, 'Your name?', formWith('name')),
  test_input_required_result_sampling: call => sampled(call, 'What is the capital of France?'),
  test_input_required_result_list_roots: call => rootsOf(call),
  test_input_required_result_request_state: async call => {
    await elicited(call, 'Please confirm', formWith('ok', 'boolean'))
    return text('state-ok')
  },
  async test_input_required_result_multiple_inputs(call) {
    await Promise.all([
      elicited(call, 'Your name?', formWith('name')),
      sampled(call, 'Generate a greeting'),
      rootsOf(call),
    ])
    return text('all inputs received')
  },
  async test_input_required_result_multi_round(call) {
    await elicited(call, 'Your name?', formWith('name'))
    await elicited(call, 'Your colour?', formWith('color'))
    return text('both rounds complete')
  },
  async test_input_required_result_tampered_state(call) {
    await elicited(call, 'Please confirm', formWith('ok', 'boolean'))
    return text('integrity-ok')
  },
  test_input_required_result_capabilities: async call => {
    const { elicitation, sampling } = call.server.getClientCapabilities() ?? {}
    if (elicitation) await elicited(call, 'A value?', formWith('value'))
    return sampling ? sampled(call, 'Hello') : text('nothing to ask')
  },
}

const askingPrompt = 'test_input_required_result_prompt'

function conformanceServer(servers: readonly Server[]): Server {
  const server = new Server(
    { name: 'legacy-conformance', version: '1.0.0' },
    {
      capabilities: {
        tools: { listChanged: true },
        prompts: { listChanged: true },
        resources: { subscribe: true },
        completions: {},
        logging: {},
      },
    },
  )
  server.setRequestHandler(ListToolsRequestSchema, async () => ({
    tools: listedTools([...Object.keys(fixedResults), ...Object.keys(calls)]),
  }))
  server.setRequestHandler(CallToolRequestSchema, async ({ params: { name, arguments: args = {} } }, extra) => {
    if (isFixed(name)) return fixedResults[name] as unknown as CallToolResult
    const call = calls[name]
    if (!call) throw new McpError(-32_602, `unknown tool ${name}`)
    return call({ server, servers, extra: extra as unknown as Extra, args })
  })
  server.setRequestHandler(ListResourcesRequestSchema, async () => ({ resources }))
  server.setRequestHandler(ListResourceTemplatesRequestSchema, async () => ({ resourceTemplates }))
  server.setRequestHandler(ReadResourceRequestSchema, async ({ params: { uri } }) => {
    const contents = contentsOf(uri)
    if (!contents) throw new McpError(-32_002, 'resource not found', { uri })
    return { contents: [contents] }
  })
  server.setRequestHandler(SubscribeRequestSchema, async () => ({}))
  server.setRequestHandler(UnsubscribeRequestSchema, async () => ({}))
  server.setRequestHandler(ListPromptsRequestSchema, async () => ({
    prompts: [...prompts, { name: askingPrompt, description: 'Asks first' }],
  }))
  server.setRequestHandler(GetPromptRequestSchema, async ({ params }, extra) => {
    const asks = params.name === askingPrompt
    if (asks)
      await elicited({ server, servers, extra: extra as unknown as Extra, args: {} }, 'Context?', formWith('context'))
    const messages = messagesOf(asks ? 'test_simple_prompt' : params.name, params.arguments)
    if (!messages) throw new McpError(-32_602, `unknown prompt ${params.name}`)
    return { messages }
  })
  server.setRequestHandler(CompleteRequestSchema, async () => ({
    completion: { values: [], total: 0, hasMore: false },
  }))
  return server
}

/** Keeps the events of one session, so that its streams can be resumed. */
function eventStore(): EventStore {
  const events: { readonly streamId: string; readonly message: Parameters<EventStore['storeEvent']>[1] }[] = []
  return {
    storeEvent: async (streamId, message) => String(events.push({ streamId, message })),
    getStreamIdForEventId: async id => events[Number(id) - 1]?.streamId,
    async replayEventsAfter(last, { send }) {
      const streamId = events[Number(last) - 1]?.streamId ?? ''
      for (const [at, event] of events.entries())
        if (at >= Number(last) && event.streamId === streamId) await send(String(at + 1), event.message)
      return streamId
    },
  }
}

/** Starts the server of the legacy era, with sessions; stopped after the last test. */
export async function startLegacyConformanceServer(): Promise<string> {
  const sessions = new Map<string, StreamableHTTPServerTransport>()
  const servers: Server[] = []
  const http = createServer((request, response) => {
    void answer().catch(() => response.destroy())
    async function answer(): Promise<void> {
      const given = request.headers['mcp-session-id']
      const known = sessions.get(String(given))
      if (known) return known.handleRequest(request, response)
      if (given !== undefined) return void response.writeHead(404).end()
      const { port } = http.address() as AddressInfo
      const transport: StreamableHTTPServerTransport = new StreamableHTTPServerTransport({
        sessionIdGenerator: randomUUID,
        onsessioninitialized: id => void sessions.set(id, transport),
        eventStore: eventStore(),
        retryInterval: 100,
        enableDnsRebindingProtection: true,
        allowedHosts: [`127.0.0.1:${port}`, `localhost:${port}`],
        allowedOrigins: [`http://127.0.0.1:${port}`, `http://localhost:${port}`],
      })
      const server = conformanceServer(servers)
      servers.push(server)
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
  return `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`
}
