import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Route } from '../../contract/route.ts'
import type { CallKind } from './call.ts'
import { ClientGone } from './client-gone.ts'
import type { Gateway } from './gateway.ts'
import { httpSink } from './http-sink.ts'
import { bodyReceiver } from './receive-body.ts'

const defaultBodyLimit = 2 * 1024 * 1024
const nothing = Buffer.alloc(0)

/** A route whose requests are model calls. */
export interface CallRoute {
  readonly route: Route
  readonly kind: CallKind
}

/** Serves model calls. Bodies and answers are bytes here: they must reach the other side as they are. */
export function serveCalls(app: FastifyInstance, gateway: Gateway, routes: readonly CallRoute[]): void {
  for (const { route, kind } of routes) {
    app.register(async scope => {
      scope.removeAllContentTypeParsers()
      scope.addContentTypeParser('application/json', bodyReceiver(route.bodyLimit ?? defaultBodyLimit))
      scope.route({
        method: route.method,
        url: route.path,
        config: { route },
        handler: (request, reply) => answer(request, reply, { route, kind }),
      })
    })
  }

  const answer = async (request: FastifyRequest, reply: FastifyReply, { route, kind }: CallRoute): Promise<void> => {
    const ownHeaders: Record<string, string> = { 'request-id': request.id }
    if (route.errorShape === 'openai') {
      // OpenAI's clients look for the id under this name.
      reply.header('x-request-id', request.id)
      ownHeaders['x-request-id'] = request.id
    }
    const gone = new ClientGone()
    const response = reply.raw
    response.on('close', () => {
      if (!response.writableFinished) gone.tell()
    })
    const { url } = request
    const queryAt = url.indexOf('?')
    const { outcome } = await gateway.call(
      {
        kind,
        body: Buffer.isBuffer(request.body) ? request.body : nothing,
        headers: request.headers,
        query: queryAt < 0 ? '' : url.slice(queryAt),
        requestId: request.id,
        caller: request.caller,
        signal: gone,
      },
      httpSink(reply, ownHeaders),
    )
    if (outcome === 'aborted' && !reply.sent) reply.hijack()
  }
}
