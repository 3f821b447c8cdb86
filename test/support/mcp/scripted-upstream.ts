import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after } from 'node:test'

/** A request that a scripted server received. */
export interface UpstreamRequest {
  readonly method: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly text: string
  /** The body as JSON; an empty object for another body. */
  readonly body: Readonly<Record<string, unknown>>
}

/** Answers one request. */
export type Script = (request: UpstreamRequest, response: ServerResponse) => void

/** An HTTP server that answers as `script` says and remembers all requests; closed after the last test. */
export async function startScriptedUpstream(script: Script) {
  const requests: UpstreamRequest[] = []
  const behaviour = { script }
  const server = createServer((request, response) => {
    let text = ''
    request.setEncoding('utf8')
    request.on('data', chunk => {
      text += chunk
    })
    request.on('end', () => {
      const { method = '', url: path = '', headers } = request
      const received = { method, path, headers, text, body: jsonOf(text) }
      requests.push(received)
      behaviour.script(received, response)
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  after(() => {
    server.closeAllConnections()
    server.close()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { url, requests, behaviour }
}

function jsonOf(text: string): Readonly<Record<string, unknown>> {
  try {
    return JSON.parse(text)
  } catch {
    // Forms and empty bodies are no JSON.
    return {}
  }
}

/** Sends a JSON answer. */
export function sendJson(response: ServerResponse, body: unknown, status = 200, headers: Record<string, string> = {}) {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
}

/** Returns a script of a legacy server without sessions; `tools` is its current list, `onCall` answers calls. */
export function legacyScript(
  tools: () => readonly object[],
  onCall: Script = ({ body }, response) =>
    sendJson(response, { jsonrpc: '2.0', id: body['id'], result: { content: [{ type: 'text', text: 'done' }] } }),
): Script {
  return (request, response) => {
    const { id, method } = request.body
    const result = (value: object) => sendJson(response, { jsonrpc: '2.0', id, result: value })
    switch (method) {
      case 'initialize':
        return result({ protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 's' } })
      case 'tools/list':
        return result({ tools: tools() })
      case 'tools/call':
        return onCall(request, response)
      case 'server/discover':
        return sendJson(response, { jsonrpc: '2.0', id, error: { code: -32_601, message: 'method not found' } })
      default:
        response.writeHead(202).end()
    }
  }
}

/** Returns a tool without parameters. */
export const tool = (name: string, description = `the tool ${name}`) => ({
  name,
  description,
  inputSchema: { type: 'object', properties: {} },
})
