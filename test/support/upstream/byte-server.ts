import { type AddressInfo, createServer, type Socket } from 'node:net'

/** One request as it came over the wire. */
export interface RawRequest {
  /** Method, path and header lines. */
  readonly head: string
  readonly body: string
}

const headEnd = Buffer.from('\r\n\r\n')

/**
 * Starts a server that reads whole requests and lets `answer` write any bytes to the socket, or do worse to it. `open`
 * counts the connections that are still there.
 */
export async function startByteServer(answer: (socket: Socket, request: RawRequest) => unknown) {
  const sockets = new Set<Socket>()
  const server = createServer(socket => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
    // A connection that breaks is a case under test, not a fault of this server.
    socket.on('error', () => undefined)
    let received: Buffer = Buffer.alloc(0)
    socket.on('data', chunk => {
      received = Buffer.concat([received, chunk])
      for (let request = takeRequest(); request; request = takeRequest()) answer(socket, request)
    })
    const takeRequest = (): RawRequest | undefined => {
      const end = received.indexOf(headEnd)
      if (end < 0) return undefined
      const head = received.toString('latin1', 0, end)
      const bodyEnd = end + headEnd.length + Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0)
      if (received.length < bodyEnd) return undefined
      const body = received.toString('utf8', end + headEnd.length, bodyEnd)
      received = received.subarray(bodyEnd)
      return { head, body }
    }
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    host: `127.0.0.1:${port}`,
    url: `http://127.0.0.1:${port}`,
    get open() {
      return sockets.size
    },
    async stop(): Promise<void> {
      for (const socket of sockets) socket.destroy()
      await new Promise(resolve => server.close(resolve))
    },
  }
}

/** The head of an answer whose end is the end of the connection. */
export const streamHead = (type = 'text/event-stream', more: readonly string[] = []): string =>
  `${['HTTP/1.1 200 OK', `content-type: ${type}`, 'connection: close', ...more].join('\r\n')}\r\n\r\n`

/** A whole JSON answer. */
export const jsonAnswer = (body: string, status = '200 OK', more: readonly string[] = []): string =>
  `${[`HTTP/1.1 ${status}`, 'content-type: application/json', `content-length: ${Buffer.byteLength(body)}`, ...more].join('\r\n')}\r\n\r\n${body}`
