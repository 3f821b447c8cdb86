import { timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Access } from '../../contract/route.ts'
import { digestOf } from '../platform/digest.ts'
import { AppError } from '../platform/errors.ts'
import { type Caller, masterCaller } from './caller.ts'
import type { AddressOf } from './client-address.ts'
import type { LoginLimiter } from './login-limiter.ts'
import { isFromOwnPage, isLocalRequest } from './web-page.ts'

/**
 * Returns the caller of a request: synchronously, or as a promise if the database must be queried. Throws, or rejects
 * with, `unauthorized`, `forbidden` or `rate_limited`.
 */
export type Authenticate = (request: IncomingMessage, access: Access) => Caller | Promise<Caller>

interface Options {
  /** Undefined if authentication is off. */
  readonly masterKey: string | undefined
  /** True: serves hosts other than loopback even without authentication. */
  readonly insecureNoAuth: boolean
  readonly logins: LoginLimiter
  readonly addressOf: AddressOf
  /** Returns the caller of a virtual key; undefined if it is not valid. Rejects with `unavailable`. */
  readonly findKey: (presented: string) => Caller | undefined | Promise<Caller | undefined>
  /**
   * Redeems a ticket for the stream of a session. Returns the caller that it was issued to; undefined if it is not
   * valid.
   */
  readonly redeemTicket: (ticket: string, sessionId: string) => Promise<Caller | undefined>
  /** Returns the caller of a request from a program of this server, which was authenticated by its socket. */
  readonly assigned?: (request: IncomingMessage) => Caller | undefined
}

/** Shared: under a flood of wrong keys, the stack trace of a new error would cost more than the check. */
const unauthorized = new AppError('unauthorized', 'unauthorized')

/**
 * Authenticates against the master key, then virtual keys. Interface: Authentication; order of headers: security S01.
 */
export function createAuthenticate(options: Options): Authenticate {
  const { masterKey, insecureNoAuth, logins, addressOf, findKey, redeemTicket } = options
  const master = masterKey === undefined ? undefined : digestOf(masterKey)
  const rejectionFor = (request: IncomingMessage): AppError => {
    if (logins.admits(addressOf(request) ?? '')) return unauthorized
    return new AppError('rate_limited', 'too many failed logins from this address; retry after 60 s', {
      headers: { 'retry-after': '60' },
    })
  }
  const required = (caller: Caller | undefined, request: IncomingMessage): Caller => {
    if (!caller) throw rejectionFor(request)
    return caller
  }
  const keyHolder = (presented: string, request: IncomingMessage): Caller | Promise<Caller> => {
    const found = findKey(presented)
    return found instanceof Promise ? found.then(caller => required(caller, request)) : required(found, request)
  }
  const ticketHolder = async ({ ticket, sessionId }: PresentedTicket, request: IncomingMessage): Promise<Caller> =>
    required(await redeemTicket(ticket, sessionId), request)
  const unauthenticated = (request: IncomingMessage): Caller => {
    const isOurs = isFromOwnPage(request) && (insecureNoAuth || isLocalRequest(request))
    if (!isOurs) throw new AppError('forbidden', 'forbidden')
    return masterCaller
  }
  return (request, access) => {
    const assigned = options.assigned?.(request)
    if (assigned) return assigned
    if (!master) return unauthenticated(request)
    const { key, ticket, isFromBrowser } = presentedBy(request, access)
    // Browsers send such a password with requests of any page, like cookies.
    if (isFromBrowser && !isFromOwnPage(request)) throw new AppError('forbidden', 'forbidden')
    // Always compared, so that a missing key takes as long as a wrong one. Security: S02.
    const isMaster = timingSafeEqual(digestOf(key ?? ''), master)
    if (key !== undefined) return isMaster ? masterCaller : keyHolder(key, request)
    if (ticket) return ticketHolder(ticket, request)
    throw rejectionFor(request)
  }
}

interface Presented {
  readonly key: string | undefined
  /** Undefined if there is a key. */
  readonly ticket: PresentedTicket | undefined
  /** True for Basic authentication, which browsers repeat. */
  readonly isFromBrowser: boolean
}

/** Basic authentication comes last, because a proxy may have added it for itself. */
function presentedBy(request: IncomingMessage, access: Access): Presented {
  const key = presentedKey(request, access)
  const ticket = key === undefined && access === 'key-or-query' ? presentedTicket(request) : undefined
  if (key !== undefined || ticket) return { key, ticket, isFromBrowser: false }
  const password = basicPassword(request)
  return { key: password, ticket, isFromBrowser: password !== undefined }
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
