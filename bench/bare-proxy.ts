// The yardstick: a pass-through from node:http to undici that knows nothing of what it carries. `{"upstream"}`; prints
// `{"origin"}`. Runs until it is killed.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Dispatcher, Pool } from 'undici'

const { upstream } = JSON.parse(process.argv[2] ?? '{}') as { upstream: string }
const pool = new Pool(upstream, { connections: null, pipelining: 1, keepAliveTimeout: 30_000 })

const server = createServer({ noDelay: true }, (request, response) => {
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', () => forward(request, chunks.length === 1 ? chunks[0] : Buffer.concat(chunks), response))
})
server.keepAliveTimeout = 60_000
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo
  process.stdout.write(`${JSON.stringify({ origin: `http://127.0.0.1:${port}` })}\n`)
})

function forward({ url = '/' }: IncomingMessage, body: Buffer | undefined, response: ServerResponse): void {
  const headers = { 'content-type': 'application/json' }
  pool.dispatch({ method: 'POST', path: url, headers, body: body ?? null }, relayTo(response))
}

/** Streams go out as they come; a short answer leaves in one write with its head. */
function relayTo(response: ServerResponse): Dispatcher.DispatchHandler {
  const held: Buffer[] = []
  let isStream = false
  return {
    onRequestStart: () => undefined,
    onResponseStart(_controller, status, { 'content-type': type = '' }) {
      isStream = String(type).startsWith('text/event-stream')
      response.writeHead(status, { 'content-type': String(type) })
      if (isStream) response.flushHeaders()
    },
    onResponseData(controller, chunk) {
      if (!isStream) held.push(chunk)
      else if (!response.write(chunk)) {
        controller.pause()
        response.once('drain', () => controller.resume())
      }
    },
    onResponseEnd() {
      if (isStream) response.end()
      else response.end(held.length === 1 ? held[0] : Buffer.concat(held))
    },
    onResponseError() {
      response.destroy()
    },
  }
}
