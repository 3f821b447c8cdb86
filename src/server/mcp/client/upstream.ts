import { AppError } from '../../platform/errors.ts'
import { mediaTypeIn } from '../../platform/media-type.ts'
import { type Outbound, OutboundBlocked } from '../../platform/outbound.ts'
import { Recent } from '../../platform/recent.ts'
import { errors, Pool } from '../../platform/undici.ts'
import type { RegisteredServer } from '../registry/server.ts'
import { type AnswerBody, type AnswerHead, ArrivingAnswer } from './arriving-answer.ts'
import type { Authorize } from './authorize.ts'

/** Request to the endpoint of a server. Redirects are not followed. */
export interface UpstreamRequest {
  readonly method: 'GET' | 'POST' | 'DELETE'
  readonly headers: Readonly<Record<string, string>>
  readonly body?: Buffer | string | undefined
  readonly signal: AbortSignal
  /** Maximum time until the headers; 0 for no limit. */
  readonly silenceMs: number
  /** Maximum time between two parts of the body; `silenceMs` by default, 0 for no limit. */
  readonly gapMs?: number
}

export interface UpstreamAnswer extends AnswerHead {
  /** Without parameters, in lower case; empty without a content type. */
  readonly contentType: string
  readonly body: AnswerBody
  /** Removes the credential of the server from a text of the answer. */
  readonly scrub: (text: string) => string
}

/** Sends requests to MCP servers. */
export interface Upstream {
  /** Rejects with an AppError that names the server, or with the reason of the signal. */
  exchange(server: RegisteredServer, request: UpstreamRequest): Promise<UpstreamAnswer>
}

/** Connections to MCP servers, with their credentials. Every connection passes the outbound guard. Security: S23. */
export interface Connections extends Upstream {
  close(): Promise<void>
}

interface Deps {
  readonly outbound: Pick<Outbound, 'connect'>
  readonly authorize: Authorize
}

interface Route {
  readonly origin: string
  readonly path: string
}

const connectMs = 5_000
const maxPools = 200
const maxRoutes = 1_000

export function createUpstream({ outbound, authorize }: Deps): Connections {
  const pools = new Map<string, InstanceType<typeof Pool>>()
  const routes = new Recent<Route>(maxRoutes)

  /** Returns where requests to an address go. Parsed once, because an address gets many. */
  function routeTo(url: string): Route {
    const known = routes.get(url)
    if (known) return known
    const { origin, pathname, search } = new URL(url)
    const route = { origin, path: `${pathname}${search}` }
    routes.set(url, route)
    return route
  }

  function poolOf(origin: string): InstanceType<typeof Pool> {
    const known = pools.get(origin)
    if (known) return known
    const [oldest] = pools
    if (oldest && pools.size >= maxPools) {
      pools.delete(oldest[0])
      void oldest[1].close().catch(() => undefined)
    }
    const pool = new Pool(origin, {
      // Asked for each connection, because the list of allowed addresses can change.
      connect: (options, done) => outbound.connect(connectMs)(options, done),
      connections: null,
      keepAliveTimeout: 10_000,
      maxHeaderSize: 64 * 1024,
    })
    pools.set(origin, pool)
    return pool
  }

  async function send(server: RegisteredServer, call: UpstreamRequest, isRetry: boolean): Promise<UpstreamAnswer> {
    const { headers, scrub } = await authorize.headersFor(server, { signal: call.signal })
    const { origin, path } = routeTo(server.url)
    const body = new ArrivingAnswer(call.signal)
    poolOf(origin).dispatch(
      {
        method: call.method,
        path,
        headers: { 'accept-encoding': 'identity', ...call.headers, ...headers },
        body: call.body ?? null,
        headersTimeout: call.silenceMs,
        bodyTimeout: call.gapMs ?? call.silenceMs,
      },
      body,
    )
    const head = await body.head
    const problem = problemOf(head)
    if (problem !== undefined) body.destroy()
    if (head.status === 401 && !isRetry && (await authorize.renew(server, { headers }))) return send(server, call, true)
    if (problem !== undefined) throw refusal(`MCP server ${server.server_name} ${problem}`, head)
    return { ...head, contentType: mediaTypeIn(head.headers['content-type']), body, scrub }
  }

  return {
    async exchange(server, call) {
      try {
        return await send(server, call, false)
      } catch (error) {
        throw asFailure(error, server, call.signal)
      }
    },
    async close() {
      await Promise.all([...pools.values()].map(pool => pool.destroy()))
    },
  }
}

/** Returns why an answer is not passed on; undefined if it is. */
function problemOf({ status, headers }: AnswerHead): string | undefined {
  if (status === 401 || status === 403) return `rejected the credential of this service (status ${status})`
  if (status >= 300 && status < 400) return `returned a redirect (status ${status}), which is not followed`
  const encoding = headers['content-encoding'] ?? 'identity'
  return encoding === 'identity' ? undefined : 'returned a compressed response, which is not supported'
}

/** The server rejected the credential: status 401 or 403. */
export class CredentialRejected extends AppError {
  readonly status: number
  readonly contentType: string

  constructor(message: string, { status, headers }: AnswerHead) {
    super('upstream_unreachable', message)
    this.status = status
    this.contentType = String(headers['content-type'] ?? '')
  }
}

const refusal = (message: string, head: AnswerHead): AppError =>
  head.status === 401 || head.status === 403 ? new CredentialRejected(message, head) : unreachable(message)

const unreachable = (message: string, cause?: unknown): AppError =>
  new AppError('upstream_unreachable', message, { cause })

/** Converts an error of a connection. Errors of the service and the reason of the signal stay as they are. */
export function asFailure(
  error: unknown,
  { server_name }: Pick<RegisteredServer, 'server_name'>,
  signal?: AbortSignal,
): unknown {
  if (error instanceof AppError) return error
  if (signal?.aborted) return signal.reason ?? error
  const name = `MCP server ${server_name}`
  if (error instanceof OutboundBlocked) return unreachable(`${name}: ${error.message}`, error)
  const { code } = error as NodeJS.ErrnoException
  if (error instanceof errors.HeadersTimeoutError || error instanceof errors.BodyTimeoutError)
    return new AppError('upstream_timeout', `${name} did not answer in time`, { cause: error })
  return unreachable(`${name} is unreachable${typeof code === 'string' ? ` (${code})` : ''}`, error)
}
