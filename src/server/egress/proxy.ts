import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { AppError } from '../platform/errors.ts'
import type { Log } from '../platform/log.ts'
import type { Outbound } from '../platform/outbound.ts'
import { egressLimits } from './bounds.ts'
import { createConnectionLog } from './connection-log.ts'
import { createForwarder } from './forward.ts'
import type { EgressSession, InnerHost } from './inner-host.ts'
import type { Authority } from './interception/authority.ts'
import { createInterception } from './interception/intercept.ts'
import { type Place, placeOfAuthority } from './place.ts'
import type { NetworkPolicy } from './policy.ts'
import { denied, reject, rejectTunnel } from './replies.ts'
import { requestProblem } from './request-problem.ts'
import { type OpenedTunnel, type RequestTarget, requestTarget } from './request-target.ts'
import { type ReadSecret, secretHeaders } from './secrets.ts'
import { createTunnels } from './tunnel.ts'

interface Deps {
  readonly session: EgressSession
  /** Undefined: only the inner hosts can be reached. */
  readonly policy: NetworkPolicy | undefined
  /** Returns what the proxy needs to end TLS as a host. */
  readonly contextFor: Authority['contextFor']
  readonly readSecret: ReadSecret
  readonly innerHosts: readonly InnerHost[]
  readonly outbound: Pick<Outbound, 'connect'>
  readonly log: Pick<Log, 'info'>
}

/** HTTP proxy of one command or program. It serves absolute `http://` addresses, and tunnels with CONNECT. */
export interface EgressProxy {
  readonly server: Server
  /** Ends all connections. */
  close(): Promise<void>
}

export function createProxy({ session, policy, contextFor, readSecret, innerHosts, outbound, log }: Deps): EgressProxy {
  const inner = new Map(innerHosts.map(host => [host.name, host]))
  const record = createConnectionLog(log, session)
  const forwarder = createForwarder({ outbound, record })
  const openTunnel = createTunnels({ outbound, record })
  const tunnels = new Set<Duplex>()
  const intercepted = new WeakMap<Duplex, OpenedTunnel>()

  /** Records and returns why a target is denied; undefined if it is allowed. */
  const denial = (place: Place, request: IncomingMessage | undefined): string | undefined => {
    const method = request?.method
    const reason =
      policy === undefined
        ? 'this agent has no config.network'
        : (policy.denial({ ...place, method }) ?? (request && requestProblem(request, place, policy)))
    if (reason !== undefined) record({ ...place, method: method ?? 'CONNECT', outcome: 'denied', reason })
    return reason
  }

  const send = async (request: IncomingMessage, response: ServerResponse, target: RequestTarget): Promise<void> => {
    const { place, scheme } = target
    const secrets = policy?.secretsFor(place.host) ?? []
    if (secrets.length > 0 && scheme === 'http') {
      const reason = `secrets of ${place.host} are sent over HTTPS only; use https://${place.host}`
      record({ ...place, method: request.method ?? '', outcome: 'denied', reason })
      return reject(response, denied(reason))
    }
    try {
      const added = await secretHeaders(secrets, readSecret)
      // The client may have left while the vault was read.
      if (!request.socket.destroyed) forwarder.forward(request, response, { ...target, ...added })
    } catch (error) {
      const reason = error instanceof AppError ? error.message : 'cannot read the vault'
      record({ ...place, method: request.method ?? '', outcome: 'failed', reason })
      reject(response, { status: 502, message: reason })
    }
  }

  const serve = (request: IncomingMessage, response: ServerResponse): void => {
    const tunnel = intercepted.get(request.socket)
    const target = requestTarget(request, tunnel)
    if ('status' in target) {
      if (tunnel) record({ ...tunnel.place, method: request.method ?? '', outcome: 'denied', reason: target.message })
      reject(response, target)
      return
    }
    const { place, path } = target
    const own = !tunnel && place.port === 80 ? inner.get(place.host) : undefined
    if (own) {
      request.url = path
      own.serve(request, response, session)
      return
    }
    const reason = denial(place, request)
    if (reason === undefined) void send(request, response, target)
    else reject(response, denied(reason))
  }

  const server = createServer({ keepAliveTimeout: egressLimits.idleMs, requestTimeout: egressLimits.totalMs }, serve)
  server.maxConnections = egressLimits.connections

  const intercept = createInterception({
    contextFor,
    record,
    serve(socket, tunnel) {
      intercepted.set(socket, tunnel)
      server.emit('connection', socket)
    },
  })

  const connect = ({ url = '' }: IncomingMessage, client: Socket, head: Buffer): void => {
    tunnels.add(client)
    client.once('close', () => tunnels.delete(client))
    client.on('error', () => client.destroy())
    const place = intercepted.has(client) ? undefined : placeOfAuthority(url)
    const reason = place && denial(place, undefined)
    if (!place) rejectTunnel(client, { status: 400, message: 'CONNECT needs host:port, and no other tunnel around it' })
    else if (reason !== undefined) rejectTunnel(client, denied(reason))
    else void (policy?.intercepts(place) ? intercept : openTunnel)({ place, client, head })
  }

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
