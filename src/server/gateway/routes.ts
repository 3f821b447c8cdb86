import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { messageRoutes } from '../../contract/messages.ts'
import { modelRoutes } from '../../contract/models.ts'
import type { Route } from '../../contract/route.ts'
import { bind } from '../http/bind.ts'
import { invalid, notFound } from '../platform/errors.ts'
import type { Call } from './call.ts'
import type { Gateway } from './gateway.ts'
import { httpSink } from './http-sink.ts'
import { pageOf } from './model-list.ts'

interface Deps {
  readonly gateway: Gateway
}

const nothing = Buffer.alloc(0)
const clientGone = new Error('the client is gone')

/** Model calls. Bodies and answers are bytes here: they must reach the other side as they are. */
export function serveMessages(app: FastifyInstance, { gateway }: Deps): void {
  app.register(async scope => {
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser(
      'application/json',
      { parseAs: 'buffer' },
      async (_request: FastifyRequest, body: Buffer) => body,
    )
    const serve = (route: Route, kind: Call['kind']) =>
      scope.route({
        method: route.method,
        url: route.path,
        config: { route },
        ...(route.bodyLimit !== undefined && { bodyLimit: route.bodyLimit }),
        handler: (request, reply) => answer(request, reply, kind),
      })
    serve(messageRoutes.create, 'messages')
    serve(messageRoutes.countTokens, 'count_tokens')
  })

  const answer = async (request: FastifyRequest, reply: FastifyReply, kind: Call['kind']): Promise<void> => {
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

/** The list of models. Gaps: section 7. */
export function serveModels(app: FastifyInstance, { gateway }: Deps): void {
  bind(app, modelRoutes.list, async ({ query }) => {
    // Every model serves the built-in runtime; no other one is known here.
    if (query.runtime !== undefined && query.runtime !== 'builtin')
      throw invalid(`runtime ${query.runtime} is not known`)
    return pageOf(gateway.models(), query)
  })

  const find = (id: string) => {
    const model = gateway.find(id)
    if (!model) throw notFound('model', id)
    return model
  }
  bind(app, modelRoutes.get, async ({ params }) => find(params.model_id))
  // Ids hold slashes, which clients send plain as well as encoded.
  app.get('/v1/models/*', { config: { route: modelRoutes.get } }, async request =>
    find((request.params as { '*': string })['*']),
  )
}
