import { once } from 'node:events'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { onLoopback } from '../service/on-loopback.ts'
import { createContractChecker, type Violation } from './checker.ts'

/** Bytes of an answer that are checked; of a longer one only the head is. */
const maxBytes = 16 * 1024 * 1024

/** Time for a body that the service does not read. */
const maxUnreadMs = 2_000

/** A server between clients and a service that checks each answer against the API reference. */
export interface ContractProxy {
  readonly url: string
  /** What the answers so far contain that the reference does not allow, each once. */
  violations(): readonly Violation[]
  /** How many answers were checked. */
  checked(): number
  close(): void
}

/** Without a length Node would announce chunks, as if a request without a body had one. */
function lengthOf({ method = '', headers }: IncomingMessage): readonly string[] {
  const isBounded = headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined
  return !isBounded && ['POST', 'PUT', 'PATCH'].includes(method) ? ['content-length', '0'] : []
}

/** Waits until a client has sent its body, since the end of a connection before that would discard the answer. */
async function ended(incoming: IncomingMessage): Promise<void> {
  const signal = AbortSignal.timeout(maxUnreadMs)
  if (!incoming.complete) await once(incoming, 'end', { signal }).catch(() => undefined)
}

/** Starts a proxy in front of the service at `target`; on a free port unless given. */
export async function startContractProxy(target: string, port = 0): Promise<ContractProxy> {
  const check = createContractChecker()
  const found = new Map<string, Violation>()
  let checked = 0
  const { host, hostname, port: targetPort } = new URL(target)

  function forward(incoming: IncomingMessage, outgoing: ServerResponse): void {
    const upstream = request({
      host: hostname,
      port: targetPort,
      method: incoming.method ?? 'GET',
      path: incoming.url ?? '/',
      headers: [
        ...incoming.rawHeaders.map((text, at) => (at % 2 === 1 ? text.replaceAll(own, host) : text)),
        ...lengthOf(incoming),
      ],
      agent: false,
    })
    upstream.on('socket', socket => socket.unref())
    upstream.on('response', answer => {
      // An answer may come before the end of the body, which the service then does not read.
      incoming.unpipe(upstream)
      incoming.resume()
      relay(incoming, answer, outgoing)
    })
    upstream.on('error', () => {
      if (!outgoing.headersSent) outgoing.destroy()
    })
    outgoing.on('close', () => upstream.destroy())
    incoming.pipe(upstream)
  }

  function relay(incoming: IncomingMessage, answer: IncomingMessage, outgoing: ServerResponse): void {
    outgoing.sendDate = false
    outgoing.writeHead(answer.statusCode ?? 502, answer.statusMessage, answer.rawHeaders)
    outgoing.flushHeaders()
    const chunks: Buffer[] = []
    let bytes = 0
    let isOver = false
    answer.on('data', (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes <= maxBytes) chunks.push(chunk)
    })
    const record = (isWhole: boolean) => {
      if (isOver) return
      isOver = true
      checked++
      const { method = 'GET', url = '/' } = incoming
      const isCut = !isWhole || bytes > maxBytes || method === 'HEAD'
      for (const violation of check({
        method,
        url,
        status: answer.statusCode ?? 0,
        headers: answer.headers,
        body: Buffer.concat(chunks),
        isCut,
      }))
        found.set(JSON.stringify(violation), violation)
    }
    answer.on('end', () => record(true))
    answer.on('error', () => undefined)
    answer.on('close', () => {
      record(answer.complete)
      if (!answer.complete) outgoing.destroy()
    })
    answer.pipe(outgoing, { end: false })
    answer.on('end', () => void ended(incoming).then(() => outgoing.end()))
  }

  const server = createServer({ keepAliveTimeout: 72_000, requestTimeout: 0, insecureHTTPParser: true }, forward)
  server.on('checkContinue', forward)
  server.on('connection', socket => {
    socket.unref()
    socket.on('error', () => undefined)
  })
  const { host: own, url, close } = await onLoopback(server, port)
  server.unref()
  return {
    url,
    violations: () => [...found.values()],
    checked: () => checked,
    close: () => void close(),
  }
}
