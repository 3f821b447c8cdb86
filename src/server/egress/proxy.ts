import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Log } from '../platform/log.ts'
import type { Outbound } from '../platform/outbound.ts'
import { egressLimits } from './bounds.ts'
import { createConnectionLog } from './connection-log.ts'
import { createForwarder } from './forward.ts'
import type { EgressSession, InnerHost } from './inner-host.ts'
import { type Place, placeOf, placeOfAuthority } from './place.ts'
import type { NetworkPolicy } from './policy.ts'
import { denied, reject, rejectTunnel } from './replies.ts'
import { createTunnels } from './tunnel.ts'

interface Deps {
  readonly session: EgressSession
  /** Undefined: only the inner hosts can be reached. */
  readonly policy: NetworkPolicy | undefined
  readonly innerHosts: readonly InnerHost[]
  readonly outbound: Pick<Outbound, 'connect'>
  readonly log: Pick<Log, 'info'>
}

/** HTTP proxy of one command or program. It serves absolute `http://` addresses, and tunnels with CONNECT. */
export interface Proxy {
  readonly server: Server
  /** Ends all connections. */
  close(): Promise<void>
}

export function createProxy({ session, policy, innerHosts, outbound, log }: Deps): Proxy {
  const inner = new Map(innerHosts.map(host => [host.name, host]))
  const record = createConnectionLog(log, session)
  const forwarder = createForwarder({ outbound, record })
  const openTunnel = createTunnels({ outbound, record })
  const tunnels = new Set<Duplex>()

  /** Returns why a target is denied, and records that. */
  const denial = (place: Place, method: string | undefined): string | undefined => {
    const reason = policy ? policy.denial({ ...place, method }) : 'this agent has no config.network'
    if (reason !== undefined) record({ ...place, method: method ?? 'CONNECT', outcome: 'denied', reason })
    return reason
  }

  const serve = (request: IncomingMessage, response: ServerResponse): void => {
    const url = URL.parse(request.url ?? '')
    if (url?.protocol !== 'http:') {
      reject(response, { status: 400, message: 'the request needs an absolute address with http://' })
      return
    }
    const place = placeOf(url)
    const path = `${url.pathname}${url.search}`
    const own = place.port === 80 ? inner.get(place.host) : undefined
    if (own) {
      request.url = path
      own.serve(request, response, session)
      return
    }
    const reason = denial(place, request.method)
    if (reason === undefined) forwarder.forward(request, response, { place, path })
    else reject(response, denied(reason))
  }

  const connect = ({ url = '' }: IncomingMessage, client: Duplex, head: Buffer): void => {
    tunnels.add(client)
    client.once('close', () => tunnels.delete(client))
    client.on('error', () => client.destroy())
    const place = placeOfAuthority(url)
    const reason = place && denial(place, undefined)
    if (!place) rejectTunnel(client, { status: 400, message: 'CONNECT needs host:port' })
    else if (reason === undefined) void openTunnel({ place, client, head })
    else rejectTunnel(client, denied(reason))
  }

  const server = createServer({ keepAliveTimeout: egressLimits.idleMs }, serve)
  server.maxConnections = egressLimits.connections
  server.on('connect', connect)
  return {
    server,
    async close() {
      for (const client of tunnels) client.destroy()
      server.closeAllConnections()
      await forwarder.close()
      await new Promise(resolve => server.close(resolve))
    },
  }
}
