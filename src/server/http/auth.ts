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
 * Decides who calls: at once, or with a promise where the database has to be asked. Throws, or rejects with,
 * `unauthorized`, `forbidden` or `rate_limited`.
 */
export type Authenticate = (request: IncomingMessage, access: Access) => Caller | Promise<Caller>

interface Options {
  /** Undefined: authentication is off. */
  readonly masterKey: string | undefined
  /** True serves other hosts than loopback although authentication is off. */
  readonly insecureNoAuth: boolean
  readonly logins: LoginLimiter
  readonly addressOf: AddressOf
  /** Who holds a virtual key; undefined when it opens nothing. Rejects with `unavailable`. */
  readonly findKey: (presented: string) => Caller | undefined | Promise<Caller | undefined>
  /** Uses up a ticket of a session's stream; who got it, as far as they still may, or undefined when it opens nothing. */
  readonly redeemTicket: (ticket: string, sessionId: string) => Promise<Caller | undefined>
  /** The caller of a request that came in by a way of its own, where it was checked. */
  readonly lent?: (request: IncomingMessage) => Caller | undefined
}

/** One for all: under a flood of wrong keys, taking the stack of each refusal would cost more than the check. */
const unauthorized = new AppError('unauthorized', 'unauthorized')

/** Checks callers against the master key, then the virtual keys. Interface: Authentication; order of headers: security S01. */
export function createAuthenticate(options: Options): Authenticate {
  const { masterKey, insecureNoAuth, logins, addressOf, findKey, redeemTicket } = options
  const master = masterKey === undefined ? undefined : digestOf(masterKey)
  const refusalOf = (request: IncomingMessage): AppError => {
    if (logins.admits(addressOf(request) ?? '')) return unauthorized
    return new AppError('rate_limited', 'too many failed logins from this address; wait a minute', {
      headers: { 'retry-after': '60' },
    })
  }
  const known = (caller: Caller | undefined, request: IncomingMessage): Caller => {
    if (!caller) throw refusalOf(request)
    return caller
  }
  const keyHolder = (presented: string, request: IncomingMessage): Caller | Promise<Caller> => {
    const found = findKey(presented)
    return found instanceof Promise ? found.then(caller => known(caller, request)) : known(found, request)
  }
  const ticketHolder = async ({ ticket, sessionId }: PresentedTicket, request: IncomingMessage): Promise<Caller> =>
    known(await redeemTicket(ticket, sessionId), request)
  const anybody = (request: IncomingMessage): Caller => {
    const isOurs = isFromOwnPage(request) && (insecureNoAuth || isLocalRequest(request))
    if (!isOurs) throw new AppError('forbidden', 'forbidden')
    return masterCaller
  }
  return (request, access) => {
    const lent = options.lent?.(request)
    if (lent) return lent
    if (!master) return anybody(request)
    const { key, ticket, isFromBrowser } = presentedBy(request, access)
    // A browser adds such a password by itself to what any page requests, just as it does cookies.
    if (isFromBrowser && !isFromOwnPage(request)) throw new AppError('forbidden', 'forbidden')
    // Compared in any case: a missing key is refused no sooner than a wrong one. Security: S02.
    const isMaster = timingSafeEqual(digestOf(key ?? ''), master)
    if (key !== undefined) return isMaster ? masterCaller : keyHolder(key, request)
    if (ticket) return ticketHolder(ticket, request)
    throw refusalOf(request)
  }
}

interface Presented {
  readonly key: string | undefined
  /** Only without a key. */
  readonly ticket: PresentedTicket | undefined
  /** True for Basic authentication, which browsers remember. */
  readonly isFromBrowser: boolean
}

/** Whatever else opens a route comes before Basic authentication, which a proxy may have added for itself. */
function presentedBy(request: IncomingMessage, access: Access): Presented {
  const key = presentedKey(request, access)
  const ticket = key === undefined && access === 'key-or-query' ? presentedTicket(request) : undefined
  if (key !== undefined || ticket) return { key, ticket, isFromBrowser: false }
  const password = basicPassword(request)
  return { key: password, ticket, isFromBrowser: password !== undefined }
}

/** The key of a request: Bearer, then x-api-key, then what the route allows besides: api-key, x-goog-api-key, `?key=`. */
function presentedKey(request: IncomingMessage, access: Access): string | undefined {
  const { headers, rawHeaders } = request
  const { authorization } = headers
  // Which one counts is a matter of opinion, so none does: as wrong as a wrong key.
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

/** The key of clients that know no other way, such as opencode's: the password, whatever the user's name. */
function basicPassword({ headers }: IncomingMessage): string | undefined {
  const [, encoded] = /^basic\s+(.*)$/i.exec(headers.authorization ?? '') ?? []
  if (encoded === undefined) return undefined
  const [, password] = /^[^:]*:(.*)$/s.exec(Buffer.from(encoded, 'base64').toString()) ?? []
  return password
}

/** How often a header was sent; names and values take turns in `rawHeaders`. */
function countOf(name: string, rawHeaders: readonly string[]): number {
  let count = 0
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const given = rawHeaders[at] ?? ''
    // Every request comes by here: only a name of that length is worth a copy in lower case.
    if (given.length === name.length && given.toLowerCase() === name) count++
  }
  return count
}

interface PresentedTicket {
  readonly ticket: string
  readonly sessionId: string
}

/** `?ticket=` on the stream of a session. */
function presentedTicket(request: IncomingMessage): PresentedTicket | undefined {
  const ticket = queryOf(request).get('ticket')
  const sessionId = /^\/v1\/sessions\/([^/?]+)\/events\/stream\?/.exec(request.url ?? '')?.[1]
  return ticket !== null && sessionId !== undefined ? { ticket, sessionId } : undefined
}

const queryOf = ({ url }: IncomingMessage): URLSearchParams => new URLSearchParams(url?.split('?')[1] ?? '')
