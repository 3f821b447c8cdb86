// A minimal bridge of the two official SDKs between the eras of MCP: `{"legacy"}` is the address of a legacy server, which
// it serves to modern clients at `/modern`; `{"modern"}` that of a modern server, served to legacy clients at `/legacy`.
// Prints `{"origin"}`. Runs until it is killed.
import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import {
  Client as ModernClient,
  StreamableHTTPClientTransport as ModernClientTransport,
} from '@modelcontextprotocol/client'
import { Client as LegacyClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as LegacyClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { Server as LegacyServer } from '@modelcontextprotocol/sdk/server/index.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { createMcpHandler, Server as ModernServer } from '@modelcontextprotocol/server'
import { modernVersion } from './mcp-load.ts'

const given = JSON.parse(process.argv[2] ?? '{}') as { readonly legacy?: string; readonly modern?: string }
const info = { name: 'bridge', version: '1' }
const capabilities = { capabilities: { tools: {} } }

const handle =
  given.legacy === undefined ? await forLegacyClients(given.modern ?? '') : await forModernClients(given.legacy)
const http = createServer({ noDelay: true }, (request, response) => {
  handle(request, response).catch(error => {
    process.stderr.write(`${error}\n`)
    response.destroy()
  })
})
http.keepAliveTimeout = 60_000
http.listen(0, '127.0.0.1', () => {
  process.stdout.write(`${JSON.stringify({ origin: `http://127.0.0.1:${(http.address() as AddressInfo).port}` })}\n`)
})

type Handle = (request: IncomingMessage, response: ServerResponse) => Promise<void>

/** One session of the legacy client is one server of the legacy SDK; all use one client of the modern SDK. */
async function forLegacyClients(url: string): Promise<Handle> {
  const client = new ModernClient(info, { versionNegotiation: { mode: { pin: modernVersion } } })
  await client.connect(new ModernClientTransport(new URL(url)))
  const sessions = new Map<string, StreamableHTTPServerTransport>()
  return async (request, response) => {
    const known = sessions.get(String(request.headers['mcp-session-id']))
    if (known) return known.handleRequest(request, response)
    const server = new LegacyServer(info, capabilities)
    server.setRequestHandler(ListToolsRequestSchema, async () => (await client.listTools()) as object)
    server.setRequestHandler(CallToolRequestSchema, async ({ params }) => (await client.callTool(params)) as object)
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      enableJsonResponse: true,
      onsessioninitialized: id => void sessions.set(id, transport),
    })
    await server.connect(transport as Parameters<typeof server.connect>[0])
    return transport.handleRequest(request, response)
  }
}

/** The modern SDK has a server for each request; all use one session of a client of the legacy SDK. */
async function forModernClients(url: string): Promise<Handle> {
  const client = new LegacyClient(info)
  await client.connect(new LegacyClientTransport(new URL(url)) as Parameters<typeof client.connect>[0])
  const handler = createMcpHandler(
    () => {
      const server = new ModernServer(info, capabilities)
      server.setRequestHandler('tools/list', async () => (await client.listTools()) as never)
      server.setRequestHandler('tools/call', async ({ params }) => (await client.callTool(params)) as never)
      return server
    },
    { legacy: 'reject' },
  )
  return async (request, response) => {
    const answer = await handler.fetch(
      new Request(`http://127.0.0.1${request.url}`, {
        method: request.method ?? 'POST',
        headers: request.headers as Record<string, string>,
        body: await buffer(request),
      }),
    )
    response.writeHead(answer.status, Object.fromEntries(answer.headers))
    response.end(Buffer.from(await answer.arrayBuffer()))
  }
}
