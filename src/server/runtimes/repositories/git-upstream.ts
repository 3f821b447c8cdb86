import type { IncomingHttpHeaders } from 'node:http'
import type { Readable } from 'node:stream'
import { blockedReasonFor, type Outbound, OutboundBlocked } from '../../platform/outbound.ts'
import { Pool, request as send } from '../../platform/undici.ts'
import type { GitAddress } from './git-address.ts'
import type { GitCredential } from './git-credentials.ts'

export interface UpstreamRequest {
  readonly address: GitAddress
  readonly credential: GitCredential
  readonly method: 'GET' | 'POST'
  /** Path and query at the host. */
  readonly target: string
  /** Headers of git's request. */
  readonly headers: IncomingHttpHeaders
  readonly body: Readable | Buffer | undefined
  /** Content type of a good response. */
  readonly expected: string
  /** Closes the connection. */
  readonly signal: AbortSignal
}

export interface UpstreamResponse {
  readonly body: AsyncIterable<Buffer>
  /** Frees the connection. */
  close(): Promise<void>
}

/** The host gave no usable response. The message is for people, without the credential. */
export class UpstreamProblem extends Error {
  override readonly name = 'UpstreamProblem'
}

const connectMs = 10_000
/** A host counts objects before it answers a fetch. */
const headersMs = 120_000
const idleMs = 60_000
const forwarded = ['accept', 'content-type', 'content-encoding', 'git-protocol'] as const

/**
 * Sends a request of git to its host with the credential, over a connection whose address is checked. Rejects with
 * `UpstreamProblem`. The text of an error response is not passed on: it may repeat the credential.
 */
export async function sendUpstream(guard: Outbound, request: UpstreamRequest): Promise<UpstreamResponse> {
  const { address, signal } = request
  const reason = blockedReasonFor(address.origin, guard)
  if (reason !== undefined) throw new UpstreamProblem(reason)
  const timeouts = { headersTimeout: headersMs, bodyTimeout: idleMs }
  const pool = new Pool(address.origin, { connect: guard.connect(connectMs), connections: 1, ...timeouts })
  const abort = () => void pool.destroy(new Error('aborted'))
  signal.addEventListener('abort', abort, { once: true })
  const close = async () => {
    signal.removeEventListener('abort', abort)
    await pool.destroy()
  }
  try {
    const { statusCode, headers, body } = await send.call(pool, {
      method: request.method,
      path: request.target,
      headers: headersOf(request),
      ...(request.body !== undefined && { body: request.body }),
    })
    const problem = problemOf(statusCode, headers, request)
    if (problem !== undefined) throw new UpstreamProblem(problem)
    return { body, close }
  } catch (error) {
    await close()
    throw error instanceof UpstreamProblem ? error : new UpstreamProblem(explained(error, address))
  }
}

function headersOf({ headers, credential }: UpstreamRequest): Record<string, string> {
  const agent = headers['user-agent'] ?? ''
  const sent: Record<string, string> = {
    // Hosts serve git only to clients that name themselves so.
    'user-agent': /^git\/[\w.]{1,40}/.exec(agent)?.[0] ?? 'git/2',
    'accept-encoding': 'identity',
  }
  for (const name of forwarded) {
    const value = headers[name]
    if (typeof value === 'string') sent[name] = value
  }
  if (credential.secret) sent['authorization'] = credential.secret.authorization
  return sent
}

function problemOf(
  status: number,
  headers: Readonly<Record<string, string | string[] | undefined>>,
  { address: { host }, credential, expected, target }: UpstreamRequest,
): string | undefined {
  const type = String(headers['content-type'] ?? '')
  if (status === 200) return type.startsWith(expected) ? undefined : `${host} does not serve git repositories there`
  const named = `vault entry ${credential.name}`
  if (status === 401 || status === 403)
    return credential.secret
      ? `${host} rejected the credential of ${named} (HTTP ${status})`
      : `${host} requires a credential (HTTP ${status}): store a token in the ${named}`
  if (status === 404)
    return credential.secret
      ? `${host} has no such repository, or the credential of ${named} cannot read it (HTTP 404)`
      : `${host} has no such public repository (HTTP 404); for a private one store a token in the ${named}`
  if (status >= 300 && status < 400) return `${host} has moved the repository${movedTo(headers['location'], target)}`
  return `${host} responded with HTTP ${status}`
}

/** Redirects are not followed: the credential belongs to one host and repository. */
function movedTo(location: unknown, target: string): string {
  const url = typeof location === 'string' ? URL.parse(location, 'https://host') : null
  const path = url?.pathname.replace(/\/info\/refs$/, '') ?? ''
  if (!/^(\/[\w.~+-]+)+$/.test(path) || target.startsWith(`${path}/`)) return ''
  return ` to the path ${path}; use its new URL`
}

function explained(error: unknown, { host }: GitAddress): string {
  if (error instanceof OutboundBlocked) return error.message
  const { code } = error as NodeJS.ErrnoException
  return `no response from ${host}${typeof code === 'string' && /^[A-Z_]+$/.test(code) ? ` (${code})` : ''}`
}
