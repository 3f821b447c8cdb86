import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after } from 'node:test'
import type { McpHttpHandler } from '@modelcontextprotocol/server'

/** Called with each request before its handler; false rejects it with status 403. */
type Before = (request: IncomingMessage, port: number) => boolean

/** Serves a handler of the official SDK on its own port, and returns its address; both end after the last test. */
export async function serveHandler(handler: McpHttpHandler, before: Before = () => true): Promise<string> {
  const server = createServer((request, response) => {
    void answer().catch(() => response.destroy())
    async function answer(): Promise<void> {
      const chunks: Buffer[] = []
      for await (const chunk of request) chunks.push(chunk as Buffer)
      if (!before(request, portOf())) return void response.writeHead(403).end()
      const left = new AbortController()
      response.once('close', () => response.writableFinished || left.abort())
      const body = Buffer.concat(chunks).toString()
      const found = await handler.fetch(
        new Request(`http://127.0.0.1${request.url}`, {
          method: request.method ?? 'GET',
          headers: request.headers as Record<string, string>,
          ...(body !== '' && { body }),
          signal: left.signal,
        }),
      )
      response.writeHead(found.status, Object.fromEntries(found.headers))
      response.flushHeaders()
      for await (const chunk of found.body ?? []) response.write(chunk)
      response.end()
    }
  })
  const portOf = (): number => (server.address() as AddressInfo).port
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  after(async () => {
    await handler.close()
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${portOf()}/mcp`
}
