import { randomBytes, timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, ListenOptions } from 'node:net'
import type { Caller } from '../../http/caller.ts'
import { digestOf } from '../../platform/digest.ts'
import type { Log } from '../../platform/log.ts'
import type { LentRun } from './lent-run.ts'

/** Answers a request of a known caller, as the server's own port would. */
export type ServeRequest = (request: IncomingMessage, response: ServerResponse, caller: Caller) => void

interface Deps {
  readonly serve: ServeRequest
  readonly log: Pick<Log, 'debug'>
}

/** The way of one program to our models and to the memories of its agent. Nobody else can come in by it, and its key opens nothing elsewhere. */
export interface ProgramGateway {
  /** Opens this gateway alone, and only while a run is lent. It ends with the gateway. */
  readonly key: string
  /** TCP port; 0 on a unix socket. */
  readonly port: number
  /** Lets the program call models for a run, until the result is called. */
  lend(run: LentRun): () => void
  close(): Promise<void>
}

const longerThanClients = 72_000
const pathsOfPrograms = /^\/(v1(beta)?\/|api\/v1\/managed_agents\/agents\/[^/?]+\/mcp$)/

/** Listens for a program. */
export async function openGateway(listen: ListenOptions, { serve, log }: Deps): Promise<ProgramGateway> {
  const key = `sk-run-${randomBytes(24).toString('base64url')}`
  const expected = digestOf(key)
  let lent: LentRun | undefined

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    // The routes say themselves which are for programs; this keeps those out that ask for no key.
    if (!pathsOfPrograms.test(request.url ?? '')) return refuse(response, 403, 'forbidden')
    if (!timingSafeEqual(digestOf(presentedKey(request)), expected)) return refuse(response, 401, 'unauthorized')
    const run = lent
    if (!run) return refuse(response, 403, 'no prompt is running')
    const caller = await run.caller()
    if (!caller) return refuse(response, 401, 'the key that queued the prompt was revoked or has expired')
    serve(request, response, caller)
  }
  const server = createServer({ keepAliveTimeout: longerThanClients }, (request, response) => {
    answer(request, response).catch((cause: unknown) => {
      log.debug({ err: cause }, 'a call of a program came too late')
      if (!response.headersSent) refuse(response, 503, 'the run has ended')
    })
  })
  await listening(server, listen)
  return {
    key,
    port: (server.address() as AddressInfo | null)?.port ?? 0,
    lend(run) {
      lent = run
      return () => {
        if (lent === run) lent = undefined
      }
    },
    async close() {
      lent = undefined
      server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
    },
  }
}

/** Wherever clients of the three providers put a key. */
function presentedKey({ headers, url = '' }: IncomingMessage): string {
  const bearer = /^bearer\s+(.*)$/i.exec(headers.authorization ?? '')?.[1]
  const named = [headers['x-api-key'], headers['x-goog-api-key']].find(value => typeof value === 'string')
  return bearer?.trim() ?? named?.toString() ?? new URLSearchParams(url.split('?')[1] ?? '').get('key') ?? ''
}

function refuse(response: ServerResponse, status: number, message: string): void {
  const error = { type: 'gateway_error', message }
  // Each provider's client reads one of these.
  response.writeHead(status, { 'content-type': 'application/json', connection: 'close' })
  response.end(JSON.stringify({ type: 'error', error: { ...error, code: status, status: String(status) } }))
}

function listening(server: Server, options: ListenOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    // With WORKERS a port that is not exclusive would be shared with the other processes of this machine.
    server.listen({ ...options, exclusive: true }, () => {
      server.off('error', reject)
      // What goes wrong later concerns single connections.
      server.on('error', () => {})
      resolve()
    })
  })
}
