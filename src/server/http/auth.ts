import { createHash, timingSafeEqual } from 'node:crypto'
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
}

const unauthorized = () => new AppError('unauthorized', 'unauthorized')
const digest = (text: string) => createHash('sha256').update(text).digest()

/** Checks callers against the master key. Interface: Authentication; order of headers: security S01. */
export function createAuthenticate({ masterKey, insecureNoAuth, logins }: Options): Authenticate {
  const master = masterKey === undefined ? undefined : digest(masterKey)
  return async (request, access) => {
    if (!master) {
      if (!insecureNoAuth && !isLocalRequest(request)) throw new AppError('forbidden', 'forbidden')
      return masterCaller
    }
    const presented = presentedKey(request, access)
    if (presented !== undefined && timingSafeEqual(digest(presented), master)) return masterCaller
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
  if (authorizations > 1) return undefined
  const bearer = /^bearer(?:\s+(.*))?$/i.exec(headers.authorization ?? '')
  if (bearer) return bearer[1]?.trim() ?? ''
  const apiKey = headers['x-api-key']
  if (typeof apiKey === 'string') return apiKey
  if (access !== 'key-or-query') return undefined
  return new URLSearchParams(request.url?.split('?')[1] ?? '').get('key') ?? undefined
}

/** True when Host and Origin both name this machine's loopback. Stops rebinding and cross-site calls; security S42. */
function isLocalRequest({ headers }: IncomingMessage): boolean {
  if (!isLoopbackHost(headers.host ?? '')) return false
  const { origin } = headers
  return origin === undefined || (URL.canParse(origin) && isLoopbackHost(new URL(origin).host))
}

const isLoopbackHost = (host: string): boolean => /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d+)?$/i.test(host)
