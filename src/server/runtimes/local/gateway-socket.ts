import { randomBytes, timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, ListenOptions } from 'node:net'
import type { Caller } from '../../http/caller.ts'
import { digestOf } from '../../platform/digest.ts'
import type { Log } from '../../platform/log.ts'
import type { RunGrant } from './run-grant.ts'

/** Serves a request of an authenticated caller, as the server's own port does. */
export type ServeRequest = (request: IncomingMessage, response: ServerResponse, caller: Caller) => void

interface Deps {
  readonly serve: ServeRequest
  readonly log: Pick<Log, 'debug'>
}

/** Gives one program access to our models, and to the memories and MCP servers of its agent. Its key works on this socket only. */
export interface ProgramGateway {
  /** Valid for this gateway only, while a run is granted, until the gateway closes. */
  readonly key: string
  /** TCP port; 0 on a unix socket. */
  readonly port: number
  /** Allows the program to call models for a run; the returned function revokes it. */
  grant(run: RunGrant): () => void
  close(): Promise<void>
}

/** Longer than the clients of the providers keep connections. */
const keepAliveMs = 72_000
const programPaths = /^\/(v1(beta)?\/|mcp\/[^/?]+$|api\/v1\/managed_agents\/agents\/[^/?]+\/mcp$)/

/** Starts to listen for a program. */
export async function openGateway(listen: ListenOptions, { serve, log }: Deps): Promise<ProgramGateway> {
  const key = `sk-run-${randomBytes(24).toString('base64url')}`
  const expected = digestOf(key)
  let granted: RunGrant | undefined

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    // Routes declare whether programs may call them; this check excludes routes that need no key.
    if (!programPaths.test(request.url ?? ''))
      return reject(response, 403, 'programs of a session may only call models and their MCP servers')
    if (!timingSafeEqual(digestOf(presentedKey(request)), expected)) return reject(response, 401, 'unauthorized')
    const run = granted
    if (!run) return reject(response, 403, 'no prompt is running')
    const caller = await run.caller()
    if (!caller)
      return reject(response, 401, 'the key that queued the prompt was revoked, has expired or may only read')
    serve(request, response, caller)
  }
  const server = createServer({ keepAliveTimeout: keepAliveMs }, (request, response) => {
    answer(request, response).catch((cause: unknown) => {
      log.debug({ err: cause }, 'rejected a call of a program: its run has ended')
      if (!response.headersSent) reject(response, 503, 'the run has ended')
    })
  })
  await listening(server, listen)
  return {
    key,
    port: (server.address() as AddressInfo | null)?.port ?? 0,
    grant(run) {
      granted = run
      return () => {
        if (granted === run) granted = undefined
      }
    },
    async close() {
      granted = undefined
      server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
    },
  }
}

/** Reads the key from any place where clients of the three providers send it. */
function presentedKey({ headers, url = '' }: IncomingMessage): string {
  const bearer = /^bearer\s+(.*)$/i.exec(headers.authorization ?? '')?.[1]
  const named = [headers['x-api-key'], headers['x-goog-api-key']].find(value => typeof value === 'string')
  return bearer?.trim() ?? named?.toString() ?? new URLSearchParams(url.split('?')[1] ?? '').get('key') ?? ''
}

function reject(response: ServerResponse, status: number, message: string): void {
  const error = { type: 'gateway_error', message }
  // Clients of the three providers read different ones of these fields.
  response.writeHead(status, { 'content-type': 'application/json', connection: 'close' })
  response.end(JSON.stringify({ type: 'error', error: { ...error, code: status, status: String(status) } }))
}

function listening(server: Server, options: ListenOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    // With WORKERS, a port that is not exclusive would be shared with the other processes of this machine.
    server.listen({ ...options, exclusive: true }, () => {
      server.off('error', reject)
      // Later errors concern single connections.
      server.on('error', () => {})
      resolve()
    })
  })
}
