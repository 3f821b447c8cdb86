import { timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { digestOf } from '../platform/digest.ts'
import { AppError } from '../platform/errors.ts'
import { type Caller, masterCaller } from './caller.ts'
import type { AddressOf } from './client-address.ts'
import type { LoginLimiter } from './login-limiter.ts'

/**
 * Returns the caller of a presented key: synchronously, or as a promise if the database must be queried. Throws, or rejects with,
 * `unauthorized` or `rate_limited`.
 */
export type CheckKey = (key: string | undefined, request: IncomingMessage) => Caller | Promise<Caller>

interface Options {
  readonly masterKey: string
  readonly logins: LoginLimiter
  readonly addressOf: AddressOf
  /** Returns the caller of a virtual key; undefined if it is not valid. Rejects with `unavailable`. */
  readonly findKey: (presented: string) => Caller | undefined | Promise<Caller | undefined>
}

/** Shared: under a flood of wrong keys, the stack trace of a new error would cost more than the check. */
const unauthorized = new AppError('unauthorized', 'unauthorized')

/** Checks against the master key, then virtual keys. */
export function createCheckKey({ masterKey, logins, addressOf, findKey }: Options): CheckKey {
  const master = digestOf(masterKey)
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
  return (key, request) => {
    // Always compared, so that a missing key takes as long as a wrong one. Security: S02.
    const isMaster = timingSafeEqual(digestOf(key ?? ''), master)
    if (key === undefined) throw rejectionFor(request)
    if (isMaster) return masterCaller
    const found = findKey(key)
    return found instanceof Promise ? found.then(caller => required(caller, request)) : required(found, request)
  }
}
