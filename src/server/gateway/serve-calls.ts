import type { ServerResponse } from 'node:http'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Route } from '../../contract/route.ts'
import { fastifyPaths } from '../http/paths.ts'
import { receiveBody } from '../http/receive-body.ts'
import { TurnWriter } from '../http/turn-writer.ts'
import type { CancelSignal } from '../platform/cancel-signal.ts'
import { AppError } from '../platform/errors.ts'
import type { Call, CallKind, Sink } from './core/call.ts'
import type { Gateway } from './gateway.ts'

const defaultBodyLimit = 2 * 1024 * 1024

/** A route whose requests are model calls. */
export interface CallRoute {
  readonly route: Route
  readonly kind: CallKind
}

/** Paths that contain the model are served elsewhere, where the model is read from the path. */
const isModelPath = (path: string): boolean => path.includes(':model')

/** Serves model calls. Bodies and answers stay bytes, so that they are forwarded unchanged. */
export function serveCalls(app: FastifyInstance, gateway: Pick<Gateway, 'call'>, routes: readonly CallRoute[]): void {
  for (const { route, kind } of routes) {
    const answer = createAnswer(gateway, route)
    for (const url of fastifyPaths(route).filter(path => !isModelPath(path)))
      serveBytes(app, { route, url }, (received, reply) => answer(received, reply, { kind }))
  }
}

interface ServedBytes {
  readonly route: Route
  /** In Fastify's syntax. */
  readonly url: string
}

/** A request with its body as the client sent it. */
export interface Received {
  readonly request: FastifyRequest
  readonly body: Buffer
}

type AnswerCall = (received: Received, reply: FastifyReply) => Promise<void>

/**
 * Serves a route whose body is passed as bytes. It answers in the last hook before Fastify would read the body: the
 * steps from there to a handler cost more than all checks of a call.
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

/** What a route adds to a call: kind, address and a transformation of the answer. */
export interface CallSpec extends Pick<Call, 'kind' | 'address'> {
  /** Transforms the answer on its way to the client. */
  readonly through?: (sink: Sink) => Sink
}

/** Creates the handler that makes a model call of each request to `route` and answers it. */
export function createAnswer(gateway: Pick<Gateway, 'call'>, { errorShape }: Pick<Route, 'errorShape'>) {
  return async (received: Received, reply: FastifyReply, spec: CallSpec): Promise<void> => {
    const { id, caller } = received.request
    const ownHeaders: Record<string, string> = { 'request-id': id }
    if (errorShape === 'openai') {
      // OpenAI's clients read the request id from this header.
      reply.header('x-request-id', id)
      ownHeaders['x-request-id'] = id
    }
    const sink = httpSink(reply, ownHeaders)
    try {
      const disconnect = disconnectOf(reply.raw)
      const call = callOf(received, spec, disconnect)
      const { outcome } = await gateway.call(call, spec.through ? spec.through(sink) : sink)
      if (outcome !== 'aborted' || reply.sent) return
      if (disconnect.isStopped) throw stoppedOnRequest
      reply.hijack()
    } catch (error) {
      if (error instanceof AppError) caller.behalf?.onRejected(error)
      throw error
    }
  }
}

function callOf({ request, body }: Received, { kind, address }: CallSpec, signal: ClientDisconnect): Call {
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
    ...(!caller.behalf && { stop: () => signal.stop() }),
  }
}

/** Has a status that clients do not retry. */
const stoppedOnRequest = new AppError('forbidden', 'the call was stopped on request; new calls of this key are served')

/** Returns the signal that aborts when the client closes its connection before the answer is complete. */
function disconnectOf(response: ServerResponse): ClientDisconnect {
  const disconnect = new ClientDisconnect(response)
  response.on('close', () => {
    if (!response.writableFinished) disconnect.abort()
  })
  return disconnect
}

/** Returns a sink that writes the HTTP response. It hijacks the reply at the head; until then an error can be sent. */
function httpSink(reply: FastifyReply, ownHeaders: Headers): Sink {
  const response = reply.raw
  /** Writer of a streamed body; an answer with a known length is sent in one write with its head. */
  let body: TurnWriter | undefined
  return {
    head(status, headers) {
      reply.hijack()
      response.writeHead(status, listed(ownHeaders, headers))
      if (headers['content-length'] !== undefined) return
      response.flushHeaders()
      body = new TurnWriter(response)
    },
    data: chunk => (body ? body.write(chunk) : response.write(chunk)),
    onDrain: resume => void response.once('drain', resume),
    end(chunk) {
      if (body) body.end(chunk)
      else if (chunk === undefined) response.end()
      else response.end(chunk)
    },
    cut: () => void response.destroy(),
  }
}

type Headers = Readonly<Record<string, string>>

/** Returns names and values in turn, as `writeHead` takes them; this avoids a merged object per call. */
function listed(own: Headers, given: Headers): string[] {
  const list: string[] = []
  for (const name in own) if (!(name in given)) list.push(name, own[name] ?? '')
  for (const name in given) list.push(name, given[name] ?? '')
  return list
}

/** Signal that aborts once, when the client disconnects or the call is stopped. */
class ClientDisconnect implements CancelSignal {
  aborted = false
  /** True when the call was stopped while its client was still connected. */
  isStopped = false
  readonly #response: ServerResponse
  #listeners: (() => void)[] = []

  constructor(response: ServerResponse) {
    this.#response = response
  }

  /** Aborts the call. A client that has received a part of the answer sees a broken connection. */
  stop(): void {
    if (this.#response.headersSent) {
      this.#response.destroy()
      return
    }
    this.isStopped = true
    this.abort()
  }

  addEventListener(_type: 'abort', listener: () => void): void {
    this.#listeners.push(listener)
  }

  removeEventListener(_type: 'abort', listener: () => void): void {
    this.#listeners = this.#listeners.filter(other => other !== listener)
  }

  abort(): void {
    if (this.aborted) return
    this.aborted = true
    for (const listener of this.#listeners.splice(0)) listener()
  }
}
