import type { IncomingMessage, ServerResponse } from 'node:http'
import { pipeline } from 'node:stream/promises'
import type { Dispatcher, Pool as OriginPool } from 'undici'
import type { Outbound } from '../platform/outbound.ts'
import { Pool, request as send } from '../platform/undici.ts'
import { ByteCount, egressLimits } from './bounds.ts'
import type { RecordConnection } from './connection-log.ts'
import { authorityOf } from './place.ts'
import { failure, reject } from './replies.ts'
import type { RequestTarget } from './request-target.ts'
import { secretFilter } from './secret-filter.ts'
import type { SecretHeaders } from './secrets.ts'

interface Deps {
  readonly outbound: Pick<Outbound, 'connect'>
  readonly record: RecordConnection
}

type Forward = RequestTarget & SecretHeaders

/** Returns what sends requests of a sandbox to their hosts. */
export function createForwarder({ outbound, record }: Deps) {
  const pools = new Map<string, OriginPool>()

  const poolOf = (origin: string): OriginPool => {
    const pool =
      pools.get(origin) ??
      new Pool(origin, {
        connect: outbound.connect(egressLimits.connectMs),
        headersTimeout: egressLimits.idleMs,
        bodyTimeout: egressLimits.idleMs,
      })
    // Moves it to the end: the first is the one that was not used for the longest time.
    pools.delete(origin)
    pools.set(origin, pool)
    const [oldest] = pools
    if (oldest && pools.size > egressLimits.origins) {
      pools.delete(oldest[0])
      void oldest[1].close()
    }
    return pool
  }

  const relay = async (request: IncomingMessage, response: ServerResponse, forward: Forward): Promise<void> => {
    const { place, scheme, path, hidden } = forward
    const method = request.method ?? 'GET'
    const sent = new ByteCount()
    const received = new ByteCount()
    const gone = new AbortController()
    response.once('close', () => gone.abort())
    try {
      const answer = await send.call(poolOf(`${scheme}://${authorityOf(place)}`), {
        method: method as Dispatcher.HttpMethod,
        path,
        headers: headersFor(request, forward),
        body: hasBody(request) ? request.pipe(sent) : null,
        responseHeaders: 'raw',
        signal: gone.signal,
      })
      // With `raw`, the headers are a list of names and values.
      const raw = answer.headers as unknown as readonly string[]
      const filter = secretFilter(hidden)
      response.writeHead(answer.statusCode, withoutHop(raw).map(filter.text))
      await pipeline(answer.body, received, ...filter.streams(), response)
      const bytes = { sent: sent.bytes, received: received.bytes }
      record({ ...place, method, outcome: 'allowed', status: answer.statusCode, ...bytes })
    } catch (error) {
      const reply = failure(error, place.host)
      record({ ...place, method, outcome: reply.status === 403 ? 'denied' : 'failed', reason: reply.message })
      reject(response, reply)
    }
  }

  return {
    /** Sends one request, and the response back. */
    forward(request: IncomingMessage, response: ServerResponse, forward: Forward): void {
      void relay(request, response, forward)
    },

    async close(): Promise<void> {
      await Promise.all([...pools.values()].map(pool => pool.destroy()))
    },
  }
}

const hopByHop: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0

const ofProxy: ReadonlySet<string> = new Set(['host', 'expect'])

/** Returns the headers to send: those of the request, except those of the connection, and those of the proxy. */
const headersFor = ({ rawHeaders }: IncomingMessage, { place, scheme, headers }: Forward): string[] => [
  ...withoutHop(rawHeaders, new Set([...ofProxy, ...headers.map(([name]) => name)])),
  'host',
  hostHeader({ place, scheme }),
  ...headers.flat(),
]

const hostHeader = ({ place, scheme }: Pick<RequestTarget, 'place' | 'scheme'>): string =>
  authorityOf(place).replace(scheme === 'https' ? /:443$/ : /:80$/, '')

/** Returns a list of names and values without the headers that apply to one connection only. */
function withoutHop(raw: readonly string[], without: ReadonlySet<string> = new Set()): string[] {
  const named = new Set<string>()
  for (let at = 0; at < raw.length; at += 2) {
    if (raw[at]?.toLowerCase() !== 'connection') continue
    for (const name of (raw[at + 1] ?? '').split(',')) named.add(name.trim().toLowerCase())
  }
  const kept: string[] = []
  for (let at = 0; at < raw.length; at += 2) {
    const [name = '', value = ''] = raw.slice(at, at + 2)
    const plain = name.toLowerCase()
    if (!hopByHop.has(plain) && !named.has(plain) && !without.has(plain)) kept.push(name, value)
  }
  return kept
}
