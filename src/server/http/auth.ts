import { hash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Access } from '../../contract/route.ts'
import { AppError } from '../platform/errors.ts'
import { type Caller, masterCaller } from './caller.ts'
import type { LoginLimiter } from './login-limiter.ts'

/** Decides who calls. Rejects with `unauthorized`, `forbidden` or `rate_limited`. */
export type Authenticate = (request: IncomingMessage, access: Access) => Promise<Caller>

interface Options {
  /** Undefined: authentication is off. */
  readonly masterKey: string | undefined
  /** True serves other hosts than loopback although authentication is off. */
  readonly insecureNoAuth: boolean
  readonly logins: LoginLimiter
  /** Uses up a ticket of a session's stream; who got it, or undefined when it opens nothing. */
  readonly redeemTicket: (ticket: string, sessionId: string) => Promise<string | undefined>
}

const unauthorized = () => new AppError('unauthorized', 'unauthorized')
const digest = (text: string): Buffer => hash('sha256', text, 'buffer')

/** Checks callers against the master key. Interface: Authentication; order of headers: security S01. */
export function createAuthenticate({ masterKey, insecureNoAuth, logins, redeemTicket }: Options): Authenticate {
  const master = masterKey === undefined ? undefined : digest(masterKey)
  const ticketHolder = async (request: IncomingMessage): Promise<Caller | undefined> => {
    const found = presentedTicket(request)
    const principal = found && (await redeemTicket(found.ticket, found.sessionId))
    // It opens one stream of one session, which its holder was allowed to see.
    return principal === undefined ? undefined : { principal, role: 'user', ownerScope: undefined }
  }
  const holderOf = async (request: IncomingMessage, access: Access, key: Buffer): Promise<Caller | undefined> => {
    const presented = presentedKey(request, access)
    if (presented !== undefined) return timingSafeEqual(digest(presented), key) ? masterCaller : undefined
    return access === 'key-or-query' ? ticketHolder(request) : undefined
  }
  return async (request, access) => {
    if (!master) {
      if (!insecureNoAuth && !isLocalRequest(request)) throw new AppError('forbidden', 'forbidden')
      return masterCaller
    }
    const holder = await holderOf(request, access, master)
    if (holder) return holder
    const address = request.socket.remoteAddress ?? ''
    if (!logins.admits(address)) {
      throw new AppError('rate_limited', 'too many failed logins from this address; wait a minute', {
        headers: { 'retry-after': '60' },
      })
    }
    throw unauthorized()
  }
}

/** The key of a request: Bearer, then x-api-key, then `?key=` where the route allows it. */
function presentedKey(request: IncomingMessage, access: Access): string | undefined {
  const { headers, rawHeaders } = request
  const authorizations = rawHeaders.filter((name, at) => at % 2 === 0 && name.toLowerCase() === 'authorization').length
  // Which one counts is a matter of opinion, so none does: as wrong as a wrong key.
  if (authorizations > 1) return ''
  const bearer = /^bearer(?:\s+(.*))?$/i.exec(headers.authorization ?? '')
  if (bearer) return bearer[1]?.trim() ?? ''
  const apiKey = headers['x-api-key']
  if (typeof apiKey === 'string') return apiKey
  if (access !== 'key-or-query') return undefined
  return queryOf(request).get('key') ?? undefined
}

/** `?ticket=` on the stream of a session. */
function presentedTicket(request: IncomingMessage): { ticket: string; sessionId: string } | undefined {
  const ticket = queryOf(request).get('ticket')
  const sessionId = /^\/v1\/sessions\/([^/?]+)\/events\/stream\?/.exec(request.url ?? '')?.[1]
  return ticket !== null && sessionId !== undefined ? { ticket, sessionId } : undefined
}

const queryOf = ({ url }: IncomingMessage): URLSearchParams => new URLSearchParams(url?.split('?')[1] ?? '')

/** True when Host and Origin both name this machine's loopback. Stops rebinding and cross-site calls; security S42. */
function isLocalRequest({ headers }: IncomingMessage): boolean {
  if (!isLoopbackHost(headers.host ?? '')) return false
  const { origin } = headers
  return origin === undefined || (URL.canParse(origin) && isLoopbackHost(new URL(origin).host))
}

const isLoopbackHost = (host: string): boolean => /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d+)?$/i.test(host)
