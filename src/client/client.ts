import { api } from '../contract/api.ts'
import type { Input, Result, Route } from '../contract/route.ts'
import { ApiError, apiErrorOf, ServiceUnreachable } from './failures.ts'
import { addressOf, type RequestParts } from './request.ts'

export interface ClientOptions {
  /** Origin of the service, optionally with a path; empty in a browser: the page's own origin. */
  readonly baseUrl: string
  /** Master or virtual key; absent when authentication is off. */
  readonly key?: string | undefined
  /** Default: the global `fetch`. */
  readonly fetch?: typeof fetch
  /** Called with the names of ignored request fields, as in header `x-switchyard-ignored`. */
  readonly onIgnored?: (names: string) => void
}

/** Options of a request besides the parts that its route declares. */
export interface CallOptions {
  /** Makes a repeated POST take effect only once. Gaps: section 1, rule 7. */
  readonly idempotencyKey?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
  /** Body of a route that takes bytes instead of JSON, such as `files.write`. */
  readonly content?: Uint8Array<ArrayBuffer>
  /** Body of a route that takes a form, such as `storedFiles.upload`. */
  readonly form?: FormData
}

type Named<Name extends string, Value> = Value extends undefined
  ? unknown
  : Partial<Value> extends Value
    ? { readonly [N in Name]?: Value }
    : { readonly [N in Name]: Value }

type Body<R extends Route> = R['bodyOptional'] extends true
  ? { readonly body?: Exclude<Input<R>['body'], undefined> }
  : R['consumes'] extends 'multipart/form-data'
    ? { readonly body?: Input<R>['body'] }
    : Named<'body', Input<R>['body']>

/** The parts that a route declares; parts without required fields are optional. */
export type Request<R extends Route> = Named<'params', Input<R>['params']> & Named<'query', Input<R>['query']> & Body<R>

type Arguments<R extends Route> =
  Partial<Request<R>> extends Request<R>
    ? [request?: Request<R>, options?: CallOptions]
    : [request: Request<R>, options?: CallOptions]

type Group<Routes extends Readonly<Record<string, Route>>> = {
  readonly [Name in keyof Routes]: (...args: Arguments<Routes[Name]>) => Promise<Result<Routes[Name]>>
}

/** One function per route, grouped as in the contract: `client.agents.create({ body })`. */
export type Groups = { readonly [Name in keyof typeof api as Uncapitalize<Name>]: Group<(typeof api)[Name]> }

/** One page of a list whose cursor is in a header. */
export interface Page<Data> {
  readonly data: Data
  /** Undefined on the last page. */
  readonly nextCursor: string | undefined
}

/** Generic calls of a route. All reject with ApiError, ServiceUnreachable or InvalidParameter. */
export interface Calls {
  readonly baseUrl: string
  /** Returns the success body of `route`; undefined for a response without a body. */
  call<R extends Route>(route: R, ...args: Arguments<R>): Promise<Result<R>>
  /** Like `call`, with the cursor of header `x-next-cursor`. */
  page<R extends Route>(route: R, ...args: Arguments<R>): Promise<Page<Result<R>>>
  /** Returns the successful response with an unread body, for streams. The caller must read or cancel the body. */
  open<R extends Route>(route: R, ...args: Arguments<R>): Promise<Response>
}

export type Client = Calls & Groups

/**
 * Returns a client of the service, typed by the contract. Works in Node and in browsers; has no connection and no
 * state.
 */
export function createClient({ baseUrl, key, fetch = globalThis.fetch, onIgnored }: ClientOptions): Client {
  const base = baseUrl.replace(/\/+$/, '')

  const open = async (route: Route, ...[request = {}, options = {}]: Untyped): Promise<Response> => {
    const response = await send(fetch, base, requestOf(route, request, { ...options, ...(key && { key }) }))
    const ignored = response.headers.get('x-switchyard-ignored')
    if (ignored !== null) onIgnored?.(ignored)
    if (!response.ok) throw await apiErrorOf(response)
    return response
  }

  const exchange = async (route: Route, ...args: Untyped) => {
    const response = await open(route, ...args)
    return { body: await bodyOf(response, base, args[1]?.signal), headers: response.headers }
  }

  // Casts, because the compiler cannot infer through a generic route: to the parts of any request, and from JSON to the
  // result, which the server has checked against the schemas that Result is derived from.
  const calls: Calls = {
    baseUrl: base,
    open: (route, ...args) => open(route, ...(args as Untyped)),
    async call(route, ...args) {
      return (await exchange(route, ...(args as Untyped))).body as Result<typeof route>
    },
    async page(route, ...args) {
      const { body, headers } = await exchange(route, ...(args as Untyped))
      return { data: body as Result<typeof route>, nextCursor: headers.get('x-next-cursor') ?? undefined }
    },
  }
  return { ...calls, ...groupsOf(async (route, ...args) => (await exchange(route, ...args)).body) }
}

type Untyped = [request?: RequestParts, options?: CallOptions]

function groupsOf(call: (route: Route, ...args: Untyped) => Promise<unknown>): Groups {
  const groups = Object.entries(api).map(([group, routes]) => {
    const functions = Object.entries<Route>(routes).map(([name, route]) => [
      name,
      (...args: Untyped) => call(route, ...args),
    ])
    return [group.charAt(0).toLowerCase() + group.slice(1), Object.fromEntries(functions)]
  })
  return Object.fromEntries(groups) as Groups
}

interface Prepared {
  readonly address: string
  readonly init: RequestInit
}

function requestOf(route: Route, parts: RequestParts, options: CallOptions & { readonly key?: string }): Prepared {
  const { key, idempotencyKey, signal, content, form } = options
  const headers = {
    accept: route.produces ?? 'application/json',
    ...(key !== undefined && { authorization: `Bearer ${key}` }),
    ...(parts.body !== undefined && { 'content-type': 'application/json' }),
    ...(content && { 'content-type': route.consumes ?? 'application/octet-stream' }),
    ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
    ...options.headers,
  }
  // Fetch sets the content type of a form, with its boundary.
  const bytes = form ?? content
  const body = parts.body === undefined ? { ...(bytes && { body: bytes }) } : { body: JSON.stringify(parts.body) }
  return {
    address: addressOf(route, parts),
    init: { method: route.method, headers, ...body, ...(signal && { signal }) },
  }
}

/** Rethrows the reason of an abort; every other network failure is ServiceUnreachable. */
async function send(fetch: typeof globalThis.fetch, base: string, { address, init }: Prepared): Promise<Response> {
  try {
    return await fetch(`${base}${address}`, init)
  } catch (error) {
    if (init.signal?.aborted) throw init.signal.reason
    throw new ServiceUnreachable(base, error)
  }
}

async function bodyOf(response: Response, base: string, signal: AbortSignal | undefined): Promise<unknown> {
  const text = await response.text().catch((error: unknown) => {
    if (signal?.aborted) throw signal.reason
    throw new ServiceUnreachable(base, error)
  })
  if (text === '') return undefined
  try {
    return JSON.parse(text)
  } catch {
    throw new ApiError('response is not JSON; check that the address is a Switchyard service', {
      status: response.status,
      requestId: response.headers.get('request-id') ?? undefined,
    })
  }
}
