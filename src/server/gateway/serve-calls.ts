import type { ServerResponse } from 'node:http'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Route } from '../../contract/route.ts'
import { fastifyPaths } from '../http/paths.ts'
import { AppError } from '../platform/errors.ts'
import type { Call, CallKind, Sink } from './call.ts'
import { ClientGone } from './client-gone.ts'
import type { Gateway } from './gateway.ts'
import { httpSink } from './http-sink.ts'
import { receiveBody } from './receive-body.ts'

const defaultBodyLimit = 2 * 1024 * 1024

/** A route whose requests are model calls. */
export interface CallRoute {
  readonly route: Route
  readonly kind: CallKind
}

/** A path that names the model is bound by those who know what becomes of that name. */
const isModelPath = (path: string): boolean => path.includes(':model')

/** Serves model calls. Bodies and answers are bytes here: they must reach the other side as they are. */
export function serveCalls(app: FastifyInstance, gateway: Gateway, routes: readonly CallRoute[]): void {
  for (const { route, kind } of routes) {
    const answer = createAnswer(gateway, route)
    for (const url of fastifyPaths(route).filter(path => !isModelPath(path)))
      serveBytes(app, { route, url }, (received, reply) => answer(received, reply, { kind }))
  }
}

interface ServedBytes {
  readonly route: Route
  /** As the HTTP library spells it. */
  readonly url: string
}

/** A request with the body that the client sent. */
export interface Received {
  readonly request: FastifyRequest
  readonly body: Buffer
}

type AnswerCall = (received: Received, reply: FastifyReply) => Promise<void>

/**
 * Serves a route whose body comes as the bytes that the client sent. The answer is made in the last hook before the
 * library would read the body: what it does from there to a handler costs more than all checks of a call do.
 */
export function serveBytes(app: FastifyInstance, { route, url }: ServedBytes, answer: AnswerCall): void {
  const limit = route.bodyLimit ?? defaultBodyLimit
  app.route({
    method: route.method,
    url,
    config: { route },
    onRequest(request, reply, fail) {
      receiveBody(request.raw, limit, (error, body) => {
        if (error) fail(error)
        else answer({ request, body }, reply).catch(fail)
      })
    },
    handler: () => {
      throw new AppError('internal', 'this route is answered before its handler')
    },
  })
}

interface Asked extends Pick<Call, 'kind' | 'address'> {
  /** What the answer goes through on its way to the client. */
  readonly through?: (sink: Sink) => Sink
}

/** Makes model calls out of requests to `route`, and answers them. */
export function createAnswer(gateway: Gateway, { errorShape }: Pick<Route, 'errorShape'>) {
  return async (received: Received, reply: FastifyReply, asked: Asked): Promise<void> => {
    const { id, caller } = received.request
    const ownHeaders: Record<string, string> = { 'request-id': id }
    if (errorShape === 'openai') {
      // OpenAI's clients look for the id under this name.
      reply.header('x-request-id', id)
      ownHeaders['x-request-id'] = id
    }
    const sink = httpSink(reply, ownHeaders)
    try {
      const call = callOf(received, asked, goneFrom(reply.raw))
      const { outcome } = await gateway.call(call, asked.through ? asked.through(sink) : sink)
      if (outcome === 'aborted' && !reply.sent) reply.hijack()
    } catch (error) {
      if (error instanceof AppError) caller.behalf?.refused(error)
      throw error
    }
  }
}

function callOf({ request, body }: Received, { kind, address }: Asked, signal: ClientGone): Call {
  const { url, caller } = request
  const queryAt = url.indexOf('?')
  return {
    kind,
    ...(address && { address }),
    ...(caller.behalf && { session: caller.behalf.run }),
    body,
    headers: request.headers,
    query: queryAt < 0 ? '' : url.slice(queryAt),
    requestId: request.id,
    caller,
    signal,
  }
}

/** Tells when the client closes its connection before its answer is complete. */
function goneFrom(response: ServerResponse): ClientGone {
  const gone = new ClientGone()
  response.on('close', () => {
    if (!response.writableFinished) gone.tell()
  })
  return gone
}
