import {
  createMcpHandler,
  fromJsonSchema,
  inputRequired,
  McpServer,
  ResourceTemplate,
} from '@modelcontextprotocol/server'
import { serveHandler } from './serve-handler.ts'

/** What a modern server of the official SDK has seen, for assertions. */
interface Seen {
  /** Number of calls of `wait` that were cancelled. */
  cancelled: number
  /** Headers `mcp-param-region` of calls of `marked`. */
  readonly regions: (string | null)[]
}

const text = (value: string) => ({ content: [{ type: 'text' as const, text: value }] })
const object = (properties: Record<string, object>) => ({ type: 'object' as const, properties })
const nameForm = { ...object({ name: { type: 'string' } }), required: ['name'] }

/**
 * Starts a modern server of the official SDK with tools, prompts, resources, completion, logs and questions of every
 * kind; stopped after the last test.
 */
export async function startFullModernServer() {
  const seen: Seen = { cancelled: 0, regions: [] }
  const handler = createMcpHandler(() => fullServer(seen), { legacy: 'reject' })
  const url = await serveHandler(handler, ({ headers }) => {
    if (headers['mcp-name'] === 'marked') seen.regions.push(String(headers['mcp-param-region'] ?? null))
    return true
  })
  return { url, seen, notify: handler.notify }
}

function fullServer(seen: Seen): McpServer {
  const server = new McpServer(
    { name: 'full-modern', version: '2.0.0' },
    {
      instructions: 'Use the tools.',
      capabilities: { logging: {}, resources: { subscribe: true, listChanged: true }, tools: { listChanged: true } },
    },
  )
  registerTools(server, seen)
  registerQuestions(server)
  const who = fromJsonSchema<{ who: string }>({ ...object({ who: { type: 'string' } }), required: ['who'] })
  server.registerPrompt('greet', { argsSchema: who }, async ({ who }) => ({
    messages: [{ role: 'user', content: { type: 'text', text: `Greet ${who}` } }],
  }))
  server.registerResource('note', 'memo://note', { mimeType: 'text/plain' }, uri => ({
    contents: [{ uri: uri.href, text: 'a note' }],
  }))
  server.registerResource(
    'page',
    new ResourceTemplate('memo://pages/{page}', { list: undefined, complete: { page: () => ['one', 'two'] } }),
    {},
    (uri, { page }) => ({
      contents: [{ uri: uri.href, text: `page ${page}` }],
    }),
  )
  return server
}

function registerTools(server: McpServer, seen: Seen): void {
  const word = fromJsonSchema<{ word: string }>({ ...object({ word: { type: 'string' } }), required: ['word'] })
  server.registerTool('echo', { description: 'Echoes a word', inputSchema: word }, async ({ word: given }) =>
    text(given),
  )
  server.registerTool('fail', { description: 'Fails' }, async () => ({ ...text('failed'), isError: true }))
  server.registerTool('steps', { description: 'Reports two steps and a log message' }, async context => {
    const progressToken = context.mcpReq._meta?.progressToken
    for (const progress of progressToken === undefined ? [] : [1, 2])
      await context.mcpReq.notify({
        method: 'notifications/progress',
        params: { progressToken: progressToken ?? '', progress, total: 2 },
      })
    await context.mcpReq.log('info', 'step done')
    return text('done')
  })
  server.registerTool('wait', { description: 'Waits until it is cancelled' }, async context => {
    const progressToken = context.mcpReq._meta?.progressToken
    if (progressToken !== undefined)
      await context.mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress: 1 } })
    await new Promise<void>(resolve => context.mcpReq.signal.addEventListener('abort', () => resolve(), { once: true }))
    seen.cancelled++
    return text('cancelled')
  })
  const region = fromJsonSchema<{ region: string }>(object({ region: { type: 'string', 'x-mcp-header': 'Region' } }))
  server.registerTool('marked', { description: 'Wants its region in a header', inputSchema: region }, async given =>
    text(given.region),
  )
}

function registerQuestions(server: McpServer): void {
  server.registerTool('confirm', { description: 'Asks for a name' }, async context => {
    const answer = context.mcpReq.inputResponses?.['name'] as
      | { action?: string; content?: { name?: string } }
      | undefined
    if (answer) return text(`${answer.action} ${answer.content?.name}`)
    return inputRequired({
      inputRequests: { name: inputRequired.elicit({ message: 'Your name?', requestedSchema: nameForm as never }) },
    })
  })
  server.registerTool('two-rounds', { description: 'Asks twice, with a state' }, async context => {
    const state = context.mcpReq.requestState() as string | undefined
    if (state === 'second') return text('both rounds')
    return inputRequired({
      inputRequests: { name: inputRequired.elicit({ message: `After ${state}`, requestedSchema: nameForm as never }) },
      requestState: state === 'first' ? 'second' : 'first',
    })
  })
  server.registerTool('sample', { description: 'Asks for a completion' }, async context => {
    const answer = context.mcpReq.inputResponses?.['text'] as { content?: { text?: string } } | undefined
    if (answer) return text(`sampled ${answer.content?.text}`)
    const messages = [{ role: 'user' as const, content: { type: 'text' as const, text: 'hi' } }]
    return inputRequired({ inputRequests: { text: inputRequired.createMessage({ messages, maxTokens: 10 }) } })
  })
  server.registerTool('roots', { description: 'Asks for roots' }, async context => {
    const answer = context.mcpReq.inputResponses?.['roots'] as { roots?: { uri: string }[] } | undefined
    if (answer) return text(`roots ${answer.roots?.map(({ uri }) => uri).join(' ')}`)
    return inputRequired({ inputRequests: { roots: inputRequired.listRoots() } })
  })
}
