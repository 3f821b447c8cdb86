import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Outbound } from '../platform/outbound.ts'
import { ByteCount, egressLimits } from './bounds.ts'
import type { RecordConnection } from './connection-log.ts'
import { authorityOf, type Place } from './place.ts'
import { failure, rejectTunnel } from './replies.ts'

interface Deps {
  readonly outbound: Pick<Outbound, 'connect'>
  readonly record: RecordConnection
}

interface Opened {
  readonly place: Place
  readonly client: Duplex
  /** Bytes that the client sent together with CONNECT. */
  readonly head: Buffer
}

/** Returns a function that connects a client to a host and passes bytes until one of both ends. Never rejects. */
export function createTunnels({ outbound, record }: Deps) {
  const connect = outbound.connect(egressLimits.connectMs)
  return async ({ place, client, head }: Opened): Promise<void> => {
    let upstream: Socket
    try {
      upstream = await connected(connect, place)
    } catch (error) {
      const reply = failure(error, place.host)
      record({
        ...place,
        method: 'CONNECT',
        outcome: reply.status === 403 ? 'denied' : 'failed',
        reason: reply.message,
      })
      rejectTunnel(client, reply)
      return
    }
    const received = new ByteCount()
    const sent = new ByteCount()
    const end = () => {
      upstream.destroy()
      client.destroy()
    }
    upstream.setTimeout(egressLimits.idleMs, end)
    const late = setTimeout(end, egressLimits.totalMs)
    // The client may have left while the connection was opened.
    if (client.destroyed) upstream.destroy()
    else client.write('HTTP/1.1 200 Connection established\r\n\r\n')
    if (head.length > 0) sent.write(head)
    // Either side may end a tunnel at any time, so that its errors mean nothing.
    await Promise.allSettled([pipeline(upstream, received, client), pipeline(client, sent, upstream)])
    clearTimeout(late)
    end()
    record({ ...place, method: 'CONNECT', outcome: 'allowed', sent: sent.bytes, received: received.bytes })
  }
}

function connected(connect: ReturnType<Outbound['connect']>, place: Place): Promise<Socket> {
  const { promise, resolve, reject } = Promise.withResolvers<Socket>()
  const target = { hostname: place.host, host: authorityOf(place), port: String(place.port), protocol: 'http:' }
  connect(target, (error, socket) => (error ? reject(error) : resolve(socket)))
  return promise
}
