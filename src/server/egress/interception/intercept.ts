import { once } from 'node:events'
import type { Socket } from 'node:net'
import { type SecureContext, TLSSocket } from 'node:tls'
import { egressLimits } from '../bounds.ts'
import type { RecordConnection } from '../connection-log.ts'
import type { Place } from '../place.ts'
import type { OpenedTunnel } from '../request-target.ts'
import type { Authority } from './authority.ts'

interface Deps {
  readonly contextFor: Authority['contextFor']
  readonly record: RecordConnection
  /** Serves the requests of a connection. */
  readonly serve: (socket: Socket, tunnel: OpenedTunnel) => void
}

interface Opened {
  readonly place: Place
  readonly client: Socket
  /** Bytes that the client sent together with CONNECT. */
  readonly head: Buffer
}

/** First byte of a TLS handshake. */
const handshakeByte = 0x16

/** In the form of the protocol: each name with its length. */
const onlyHttp1 = Buffer.from('\x08http/1.1', 'latin1')

/**
 * Returns a function that ends a tunnel in this process, as the host that the client wants, and serves its requests,
 * with TLS or without. Never rejects.
 */
export function createInterception({ contextFor, record, serve }: Deps) {
  return async ({ place, client, head }: Opened): Promise<void> => {
    const late = setTimeout(() => client.destroy(), egressLimits.connectMs)
    try {
      client.write('HTTP/1.1 200 Connection established\r\n\r\n')
      if (head.length > 0) client.unshift(head)
      const isTls = (await firstByte(client)) === handshakeByte
      const socket = isTls ? await secured(client, { host: place.host, context: contextFor(place.host) }) : client
      const end = setTimeout(() => socket.destroy(), egressLimits.totalMs)
      socket.once('close', () => clearTimeout(end))
      serve(socket, { place, scheme: isTls ? 'https' : 'http' })
    } catch (error) {
      client.destroy()
      const code = error instanceof Error && 'code' in error ? ` (${String(error.code)})` : ''
      record({ ...place, method: 'CONNECT', outcome: 'failed', reason: `TLS handshake with the sandbox failed${code}` })
    } finally {
      clearTimeout(late)
    }
  }
}

/** Returns the first byte without consuming it. */
async function firstByte(client: Socket): Promise<number | undefined> {
  const closed = new AbortController()
  client.once('close', () => closed.abort())
  let bytes: Buffer | null = client.read()
  while (bytes === null) {
    if (client.destroyed || client.readableEnded) throw new Error('closed')
    await once(client, 'readable', { signal: closed.signal })
    bytes = client.read()
  }
  client.unshift(bytes)
  return bytes[0]
}

interface Host {
  readonly host: string
  readonly context: SecureContext
}

/** Resolves after the handshake. The client must name the host of the tunnel, or none. */
async function secured(client: Socket, { host, context }: Host): Promise<Socket> {
  const socket = new TLSSocket(client, {
    isServer: true,
    secureContext: context,
    ALPNProtocols: onlyHttp1,
    SNICallback: (name, done) =>
      name.toLowerCase() === host ? done(null, context) : done(new Error(`the client asks for ${name}`)),
  } as ConstructorParameters<typeof TLSSocket>[1])
  const closed = new AbortController()
  socket.once('close', () => closed.abort())
  socket.on('error', () => socket.destroy())
  await once(socket, 'secure', { signal: closed.signal })
  return socket
}
