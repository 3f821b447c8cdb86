import type { ServerResponse } from 'node:http'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Route } from '../../contract/route.ts'
import { fastifyPaths } from '../http/paths.ts'
import { TurnWriter } from '../http/turn-writer.ts'
import { AppError } from '../platform/errors.ts'
import type { Leaving } from '../platform/leaving.ts'
import type { Call, CallKind, Sink } from './core/call.ts'
import type { Gateway } from './gateway.ts'
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
export function serveCalls(app: FastifyInstance, gateway: Pick<Gateway, 'call'>, routes: readonly CallRoute[]): void {
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

export interface Asked extends Pick<Call, 'kind' | 'address'> {
  /** What the answer goes through on its way to the client. */
  readonly through?: (sink: Sink) => Sink
}

/** Makes model calls out of requests to `route`, and answers them. */
export function createAnswer(gateway: Pick<Gateway, 'call'>, { errorShape }: Pick<Route, 'errorShape'>) {
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
      const gone = goneFrom(reply.raw)
      const call = callOf(received, asked, gone)
      const { outcome } = await gateway.call(call, asked.through ? asked.through(sink) : sink)
      if (outcome !== 'aborted' || reply.sent) return
      if (gone.isStopped) throw stoppedOnRequest
      reply.hijack()
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
    ...(!caller.behalf && { stop: () => signal.stop() }),
  }
}

/** A status that clients do not try again by themselves. */
const stoppedOnRequest = new AppError('forbidden', 'the call was stopped on request; new calls of this key are served')

/** Tells when the client closes its connection before its answer is complete. */
function goneFrom(response: ServerResponse): ClientGone {
  const gone = new ClientGone(response)
  response.on('close', () => {
    if (!response.writableFinished) gone.tell()
  })
  return gone
}

/** A sink that is an HTTP answer. The reply is taken over with the first byte; before that an error can still be sent. */
function httpSink(reply: FastifyReply, ownHeaders: Headers): Sink {
  const response = reply.raw
  /** Of a streamed body; a short answer leaves in one write with its head. */
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

/** Names and values in turns, as HTTP wants them in the end: one more object a call would be made only to be read once. */
function listed(own: Headers, given: Headers): string[] {
  const list: string[] = []
  for (const name in own) if (!(name in given)) list.push(name, own[name] ?? '')
  for (const name in given) list.push(name, given[name] ?? '')
  return list
}

/** Tells a call, once, that its client has closed the connection. */
class ClientGone implements Leaving {
  aborted = false
  /** True when somebody stopped the call, and its client is still there. */
  isStopped = false
  readonly #response: ServerResponse
  #listeners: (() => void)[] = []

  constructor(response: ServerResponse) {
    this.#response = response
  }

  /** Ends the call as if its client had left. One that has a part of its answer sees a broken connection. */
  stop(): void {
    if (this.#response.headersSent) {
      this.#response.destroy()
      return
    }
    this.isStopped = true
    this.tell()
  }

  addEventListener(_type: 'abort', listener: () => void): void {
    this.#listeners.push(listener)
  }

  removeEventListener(_type: 'abort', listener: () => void): void {
    this.#listeners = this.#listeners.filter(known => known !== listener)
  }

  tell(): void {
    if (this.aborted) return
    this.aborted = true
    for (const listener of this.#listeners.splice(0)) listener()
  }
}
