// MCP servers of both eras with one tool, which do no more than a client needs. Prints `{"legacy", "modern"}`, their
// addresses. Runs until it is killed.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { legacyVersion, modernVersion, resultText } from './mcp-load.ts'

interface Call {
  readonly id?: string | number
  readonly method: string
}

const serverInfo = { name: 'bench', version: '1' }
const tools = [{ name: 'search', description: 'Searches', inputSchema: { type: 'object' } }]
const content = [{ type: 'text', text: resultText }]
const complete = { resultType: 'complete', ttlMs: 3_600_000, cacheScope: 'public' }
const results: Readonly<Record<string, Readonly<Record<string, object>>>> = {
  legacy: {
    initialize: { protocolVersion: legacyVersion, capabilities: { tools: {} }, serverInfo },
    'tools/list': { tools },
    'tools/call': { content },
  },
  modern: {
    'server/discover': { ...complete, supportedVersions: [modernVersion], capabilities: { tools: {} }, serverInfo },
    'tools/list': { ...complete, tools },
    'tools/call': { resultType: 'complete', content },
  },
}

const server = createServer({ noDelay: true }, (request, response) => {
  if (request.method !== 'POST') return void response.writeHead(405).end()
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', () => answer(request, JSON.parse(Buffer.concat(chunks).toString()) as Call, response))
})
server.keepAliveTimeout = 60_000
server.listen(0, '127.0.0.1', () => {
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  process.stdout.write(`${JSON.stringify({ legacy: `${origin}/legacy`, modern: `${origin}/modern` })}\n`)
})

function answer({ url = '' }: IncomingMessage, { id, method }: Call, response: ServerResponse): void {
  if (id === undefined) return void response.writeHead(202).end()
  const result = results[url.slice(1)]?.[method]
  const body = JSON.stringify({
    jsonrpc: '2.0',
    id,
    ...(result ? { result } : { error: { code: -32_601, message: 'Method not found' } }),
  })
  response.writeHead(200, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    ...(method === 'initialize' && { 'mcp-session-id': `bench-${process.hrtime.bigint()}` }),
  })
  response.end(body)
}
