import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Route } from '../../contract/route.ts'
import type { CallKind } from './call.ts'
import type { Gateway } from './gateway.ts'
import { httpSink } from './http-sink.ts'

const nothing = Buffer.alloc(0)
const clientGone = new Error('the client is gone')

/** A route whose requests are model calls. */
export interface CallRoute {
  readonly route: Route
  readonly kind: CallKind
}

/** Serves model calls. Bodies and answers are bytes here: they must reach the other side as they are. */
export function serveCalls(app: FastifyInstance, gateway: Gateway, routes: readonly CallRoute[]): void {
  app.register(async scope => {
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser(
      'application/json',
      { parseAs: 'buffer' },
      async (_request: FastifyRequest, body: Buffer) => body,
    )
    for (const { route, kind } of routes) {
      scope.route({
        method: route.method,
        url: route.path,
        config: { route },
        ...(route.bodyLimit !== undefined && { bodyLimit: route.bodyLimit }),
        handler: (request, reply) => answer(request, reply, kind),
      })
    }
  })

  const answer = async (request: FastifyRequest, reply: FastifyReply, kind: CallKind): Promise<void> => {
    // OpenAI's clients look for the id under this name.
    if (request.routeOptions.config.route?.errorShape === 'openai') reply.header('x-request-id', request.id)
    const gone = new AbortController()
    reply.raw.once('close', () => {
      // Without a reason of ours an abort builds an exception with its stack, and each answer ends in a close.
      if (!reply.raw.writableFinished) gone.abort(clientGone)
    })
    const queryAt = request.url.indexOf('?')
    const { outcome } = await gateway.call(
      {
        kind,
        body: Buffer.isBuffer(request.body) ? request.body : nothing,
        headers: request.headers,
        query: queryAt < 0 ? '' : request.url.slice(queryAt),
        requestId: request.id,
        caller: request.caller,
        signal: gone.signal,
      },
      httpSink(reply),
    )
    if (outcome === 'aborted' && !reply.sent) reply.hijack()
  }
}
