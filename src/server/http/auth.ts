import type { IncomingMessage } from 'node:http'
import { consoleHeader } from '../../contract/console.ts'
import type { Access } from '../../contract/route.ts'
import { AppError } from '../platform/errors.ts'
import { type Caller, masterCaller } from './caller.ts'
import type { CheckKey } from './check-key.ts'
import type { SignInCookie } from './sign-in-cookie.ts'
import { isDeliberate, isFromOwnPage, isLocalRequest } from './web-page.ts'

/**
 * Returns the caller of a request: synchronously, or as a promise if the database must be queried. Throws, or rejects
 * with, `unauthorized`, `forbidden` or `rate_limited`.
 */
export type Authenticate = (request: IncomingMessage, access: Access) => Caller | Promise<Caller>

interface Options {
  /** Undefined if authentication is off. */
  readonly checkKey: CheckKey | undefined
  /** True: serves hosts other than loopback even without authentication. */
  readonly insecureNoAuth: boolean
  readonly cookie: Pick<SignInCookie, 'keyIn'>
  /**
   * Redeems a ticket for the stream of a session. Returns the caller that it was issued to; undefined if it is not
   * valid.
   */
  readonly redeemTicket: (ticket: string, sessionId: string) => Promise<Caller | undefined>
  /** Returns the caller of a request from a program of this server, which was authenticated by its socket. */
  readonly assigned?: (request: IncomingMessage) => Caller | undefined
}

const withoutMasterKey =
  'without a master key only programs of this machine and pages of this service may call it; set GATEWAY_MASTER_KEY'
const fromAnotherPage =
  'another page sent a cookie or password of this service; send the key as Authorization: Bearer, or use a page of the service'

/**
 * Authenticates against the master key, then virtual keys. Interface: Authentication; order of headers: security S01.
 */
export function createAuthenticate(options: Options): Authenticate {
  const { checkKey, insecureNoAuth, cookie, redeemTicket } = options
  const ticketHolder = async (check: CheckKey, presented: PresentedTicket, request: IncomingMessage): Promise<Caller> =>
    (await redeemTicket(presented.ticket, presented.sessionId)) ?? check(undefined, request)
  const unauthenticated = (request: IncomingMessage): Caller => {
    const isOurs = isFromOwnPage(request) && (insecureNoAuth || isLocalRequest(request))
    if (!isOurs) throw new AppError('forbidden', withoutMasterKey)
    return masterCaller
  }
  return (request, access) => {
    const assigned = options.assigned?.(request)
    if (assigned) return assigned
    if (!checkKey) return unauthenticated(request)
    const { key, ticket, sentBy } = presentedBy(request, access, cookie)
    if (sentBy !== 'client' && !isFromOwnPage(request)) throw new AppError('forbidden', fromAnotherPage)
    if (sentBy === 'cookie' && request.method !== 'GET' && !isDeliberate(request))
      throw new AppError('forbidden', `a request with a cookie needs the header ${consoleHeader}: 1 and its own origin`)
    return ticket ? ticketHolder(checkKey, ticket, request) : checkKey(key, request)
  }
}

interface Presented {
  readonly key: string | undefined
  /** Undefined if there is a key. */
  readonly ticket?: PresentedTicket | undefined
  /** `browser`: Basic authentication. Browsers send it and cookies with requests of any page. */
  readonly sentBy: 'client' | 'browser' | 'cookie'
}

/** Basic authentication and the cookie come last: a proxy may have added the first, and a browser sends both always. */
function presentedBy(request: IncomingMessage, access: Access, cookie: Options['cookie']): Presented {
  const key = presentedKey(request, access)
  const ticket = key === undefined && access === 'key-or-query' ? presentedTicket(request) : undefined
  if (key !== undefined || ticket) return { key, ticket, sentBy: 'client' }
  const kept = cookie.keyIn(request)
  if (kept !== undefined) return { key: kept, sentBy: 'cookie' }
  const password = basicPassword(request)
  return { key: password, sentBy: password === undefined ? 'client' : 'browser' }
}

/**
 * Returns the key of a request: Bearer, x-api-key, then what the route also allows: api-key, x-goog-api-key, `?key=`.
 */
function presentedKey(request: IncomingMessage, access: Access): string | undefined {
  const { headers, rawHeaders } = request
  const { authorization } = headers
  // Several Authorization headers are ambiguous, so they count as a wrong key.
  if (authorization !== undefined && countOf('authorization', rawHeaders) > 1) return ''
  const bearer = /^bearer(?:\s+(.*))?$/i.exec(authorization ?? '')
  if (bearer) return bearer[1]?.trim() ?? ''
  const apiKey = headers['x-api-key']
  if (typeof apiKey === 'string') return apiKey
  const azureKey = headers['api-key']
  if (typeof azureKey === 'string' && request.url?.startsWith('/openai/')) return azureKey
  if (access === 'google-key') {
    const googleKey = headers['x-goog-api-key']
    if (typeof googleKey === 'string') return googleKey
  } else if (access !== 'key-or-query') return undefined
  const [key, ...others] = queryOf(request).getAll('key')
  return others.length > 0 ? '' : key
}

/** Returns the password of Basic authentication, which clients such as opencode send as the key with any user name. */
function basicPassword({ headers }: IncomingMessage): string | undefined {
  const [, encoded] = /^basic\s+(.*)$/i.exec(headers.authorization ?? '') ?? []
  if (encoded === undefined) return undefined
  const [, password] = /^[^:]*:(.*)$/s.exec(Buffer.from(encoded, 'base64').toString()) ?? []
  return password
}

/** Returns how often a header was sent. `rawHeaders` alternates names and values. */
function countOf(name: string, rawHeaders: readonly string[]): number {
  let count = 0
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const given = rawHeaders[at] ?? ''
    // On the path of every request: compares lengths first, to lower-case only candidates.
    if (given.length === name.length && given.toLowerCase() === name) count++
  }
  return count
}

interface PresentedTicket {
  readonly ticket: string
  readonly sessionId: string
}

/** Returns `?ticket=` of a session stream. */
function presentedTicket(request: IncomingMessage): PresentedTicket | undefined {
  const ticket = queryOf(request).get('ticket')
  const sessionId = /^\/v1\/sessions\/([^/?]+)\/events\/stream\?/.exec(request.url ?? '')?.[1]
  return ticket !== null && sessionId !== undefined ? { ticket, sessionId } : undefined
}

const queryOf = ({ url }: IncomingMessage): URLSearchParams => new URLSearchParams(url?.split('?')[1] ?? '')
