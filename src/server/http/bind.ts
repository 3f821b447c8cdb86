import type { IncomingMessage } from 'node:http'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { type Input, type Result, type Route, successStatus } from '../../contract/route.ts'
import { invalid } from '../platform/errors.ts'
import type { Actor, Caller } from './caller.ts'
import { CsvFile, sendCsv } from './csv-file.ts'
import { nesting } from './deep-query.ts'
import { type Idempotency, idempotencyOf } from './idempotency.ts'
import { type IgnoredField, ignoredHeader, ignoredIn, ignoredValue } from './ignored-fields.ts'
import { fastifyPaths } from './paths.ts'
import { suggestionFor, type UnknownField, unknownFields } from './unknown-fields.ts'

/** Request data for handlers besides the input. */
export interface Meta {
  readonly requestId: string
  /** For the audit log. */
  readonly actor: Actor
  /** Present if the caller sent `Idempotency-Key`. Handlers that create objects pass it to their store. */
  readonly idempotency: Idempotency | undefined
  readonly raw: IncomingMessage
  /** Returns a request header by its lower-case name. */
  header(name: string): string | readonly string[] | undefined
  /** Adds a header to the success response. */
  setHeader(name: string, value: string): void
  /** Lists fields of the request that have no effect in the header `x-switchyard-ignored`. */
  ignore(fields: readonly string[]): void
  /** Aborts when the client disconnects. */
  readonly signal: AbortSignal
}

/** Return value of a handler: the result, or a CSV file on routes with `hasCsv`. */
type Answer<R extends Route> = Result<R> | (R['hasCsv'] extends true ? CsvFile : never)

export type Handler<R extends Route> = (input: Input<R>, caller: Caller, meta: Meta) => Promise<Answer<R>>

/** Registers `handler` for each path of `route`. The server's hooks read the route from `config`. */
export function bind<R extends Route>(app: FastifyInstance, route: R, handler: Handler<R>): void {
  for (const url of fastifyPaths(route)) bindAt(app, url, { route, handler })
}

interface Bound<R extends Route> {
  readonly route: R
  readonly handler: Handler<R>
}

function bindAt<R extends Route>(app: FastifyInstance, url: string, { route, handler }: Bound<R>): void {
  const status = successStatus(route)
  app.route({
    method: route.method,
    url,
    config: { route },
    // Load balancers probe the health routes with HEAD.
    exposeHeadRoute: route.access === 'public',
    schema: routeSchema(route),
    ...(route.bodyLimit !== undefined && { bodyLimit: route.bodyLimit }),
    ...nesting(route),
    async handler(request, reply) {
      const disconnected = new AbortController()
      // Only on a disconnect: an abort creates an exception with a stack trace, which is expensive.
      reply.raw.once('close', () => reply.raw.writableFinished || disconnected.abort())
      // The JSON text `null` is an absent body, where one may be absent.
      const body = route.bodyOptional ? (request.body ?? undefined) : request.body
      // The only cast: Fastify validated these against the schemas that Input<R> is derived from.
      const input = { params: request.params, query: request.query, body } as Input<R>
      const ignored = unknownIn(route, body)
      const ignore = (fields: readonly string[]) => {
        ignored.push(...fields.map(name => ({ name })))
        const value = ignoredValue(ignored)
        if (value !== undefined) reply.header(ignoredHeader, value)
      }
      ignore([])
      const answer = await handler(input, request.caller, {
        requestId: request.id,
        actor: actorOf(request),
        idempotency: idempotencyOf(request, route, request.caller),
        raw: request.raw,
        header: name => request.headers[name],
        setHeader: (name, value) => void reply.header(name, value),
        ignore,
        signal: disconnected.signal,
      })
      if (answer instanceof CsvFile) return sendCsv(reply, answer)
      if (route.produces?.endsWith('+json')) reply.type(route.produces)
      return status === 204 ? reply.code(204).send() : reply.code(status).send(answer)
    },
  })
}

/** Returns unknown fields of a body. Throws `invalid` if the route rejects them. */
function unknownIn({ body: schema, unknownFields: treatment = 'rejected' }: Route, body: unknown): IgnoredField[] {
  if (!schema || treatment === 'passed') return []
  if (treatment === 'reported') return ignoredIn(schema, body)
  const [unknown] = unknownFields(schema, body, true)
  if (unknown) throw invalid(`unknown field ${JSON.stringify(unknown.path.slice(0, 200))}${hintOf(unknown)}`)
  return []
}

function hintOf({ path, expected: known }: UnknownField): string {
  const suggestion = suggestionFor(path.slice(path.lastIndexOf('.') + 1), known)
  return suggestion === undefined ? `; known fields: ${known.join(', ') || 'none'}` : `; did you mean ${suggestion}?`
}

/** Returns the actor of a request, for the audit log. */
export function actorOf({ caller, id, raw, server }: FastifyRequest): Actor {
  const { principal, role, key } = caller
  return { principal, role, keyId: key?.id, address: server.addressOf(raw), requestId: id }
}

/** Returns the schemas of a route in the form of Fastify and of the OpenAPI document. */
export function routeSchema({
  id,
  summary,
  params,
  query,
  body,
  bodyOptional,
  responses,
}: Route): Record<string, unknown> {
  return {
    operationId: id,
    summary,
    ...(params && { params }),
    ...(query && { querystring: query }),
    // Fastify validates an absent body as null.
    ...(body && { body: bodyOptional ? Type.Union([body, Type.Null()]) : body }),
    response: Object.fromEntries(
      Object.entries(responses).map(([code, schema]) => [code, schema ?? Type.Null({ description: 'No body' })]),
    ),
  }
}
