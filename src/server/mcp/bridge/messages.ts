import { randomUUID } from 'node:crypto'
import { rpcCodes } from '../../http/json-rpc-error.ts'
import { isRecord, type Json, nonEmptyText, recordOf, recordsOf, textOf } from '../../platform/json.ts'
import { RpcFailure, type RpcMessage } from '../client/json-rpc.ts'
import { metaKeys } from '../client/modern.ts'
import { logLevels } from '../client/modern-request.ts'
import type { ServerRequest } from './capabilities.ts'

/** Results that carry hints for caches in the modern era. */
const cacheable = new Set([
  'server/discover',
  'tools/list',
  'prompts/list',
  'resources/list',
  'resources/templates/list',
  'resources/read',
])

/** Requests that a modern server may answer with `input_required`. */
export const askingMethods: ReadonlySet<string> = new Set(['tools/call', 'prompts/get', 'resources/read'])

/** True if a log message is as severe as the level that a client asked for. */
const isLoud = (message: RpcMessage, level: string): boolean => {
  const order: readonly string[] = logLevels
  return order.indexOf(textOf(recordOf(message['params'])['level'])) >= order.indexOf(level)
}

const modernMeta: ReadonlySet<string> = new Set(Object.values(metaKeys))

const withoutModernMeta = (meta: Json): Json =>
  Object.fromEntries(Object.entries(meta).filter(([key]) => !modernMeta.has(key)))

/** Returns `value` with the changed `_meta`, and without it if nothing is left of it. */
function withMeta(value: Json, meta: Json): Json {
  const { _meta, ...rest } = value
  return Object.keys(meta).length === 0 ? rest : { ...rest, _meta: meta }
}

/**
 * Returns the parameters of a modern request for a legacy server; `token` replaces its progress token, if it has one. Modern
 * servers ignore `task`, which older clients may still send and with which a legacy server would create a task.
 */
export function paramsForLegacy(params: Json, token: string): Json {
  const { inputResponses, requestState, task, ...rest } = params
  const meta = withoutModernMeta(recordOf(params['_meta']))
  return withMeta(rest, 'progressToken' in meta ? { ...meta, progressToken: token } : meta)
}

/** What a modern request wants to be notified of. */
export interface Wants {
  readonly progressToken: unknown
  readonly level: string | undefined
}

export function wantsOf({ params }: RpcMessage): Wants {
  const meta = recordOf(recordOf(params)['_meta'])
  return { progressToken: meta['progressToken'], level: nonEmptyText(meta[metaKeys.logLevel]) }
}

/**
 * Returns a notification of a legacy server for the modern request to which it belongs; undefined if it is unwanted. `sentToken` is
 * the progress token that the server got for this request: a session may still have progress of an earlier one.
 */
export function notificationForModern(
  message: RpcMessage,
  { progressToken, level }: Wants,
  sentToken: unknown,
): Json | undefined {
  const { method } = message
  const params = recordOf(message['params'])
  if (method === 'notifications/message') return level !== undefined && isLoud(message, level) ? message : undefined
  if (method !== 'notifications/progress' || progressToken === undefined) return undefined
  return params['progressToken'] === sentToken ? { ...message, params: { ...params, progressToken } } : undefined
}

/** Returns the result of a legacy server for a modern client. Legacy results have no hints for caches. */
export function resultForModern(method: string, result: Json, serverInfo: unknown): Json {
  const _meta = { ...recordOf(result['_meta']), ...(isRecord(serverInfo) && { [metaKeys.server]: serverInfo }) }
  return {
    ...withMeta(result, _meta),
    resultType: 'complete',
    ...(cacheable.has(method) && { ttlMs: 0, cacheScope: 'private' }),
  }
}

/** Returns the result of a modern server for a legacy client. */
export function resultForLegacy(result: Json): Json {
  const { resultType, ttlMs, cacheScope, ...rest } = result
  return withMeta(rest, withoutModernMeta(recordOf(result['_meta'])))
}

const legacyCodes = { resourceNotFound: -32_002, urlElicitationRequired: -32_042 }
/** Codes that only the specification of the modern era may define. */
const isReserved = (code: number): boolean => code <= -32_020 && code >= -32_099

/** Returns an error of a legacy server with a code that the modern era allows. */
export function failureForModern({ code, message, data }: RpcFailure): RpcFailure {
  if (code === legacyCodes.resourceNotFound) return new RpcFailure(rpcCodes.invalidParams, message, data)
  return isReserved(code) ? new RpcFailure(rpcCodes.internal, message, data) : new RpcFailure(code, message, data)
}

/** Returns the elicitations that a legacy server demands before it repeats the request; undefined for other errors. */
export function elicitationsIn({ code, data }: RpcFailure): readonly ServerRequest[] | undefined {
  if (code !== legacyCodes.urlElicitationRequired) return undefined
  return recordsOf(recordOf(data)['elicitations']).map(params =>
    inputRequestOf({ method: 'elicitation/create', params }),
  )
}

/** Returns a request of a legacy server in the form of `inputRequests`. */
export function inputRequestOf({ method, params }: RpcMessage): ServerRequest {
  const { elicitationId, task, _meta, ...rest } = recordOf(params)
  return { method: textOf(method), params: rest }
}

/** Returns an entry of `inputRequests` as the request of a legacy server. */
export function legacyRequestOf({ method, params }: ServerRequest): ServerRequest {
  const isUrl = method === 'elicitation/create' && params['mode'] === 'url'
  return { method, params: isUrl ? { ...params, elicitationId: randomUUID() } : params }
}
