import type { FastifyInstance, FastifyRequest } from 'fastify'
import { webhookCountRoutes } from '../../contract/webhook-counts.ts'
import { webhookRoutes } from '../../contract/webhooks.ts'
import { bind } from '../http/bind.ts'
import { rejectEncoded } from '../http/json-body.ts'
import { pageOf } from '../http/page.ts'
import { fastifyPath } from '../http/paths.ts'
import { timeRangeOf } from '../http/time-range.ts'
import { AppError } from '../platform/errors.ts'
import type { Admission, Admitted } from './admission.ts'
import type { createWebhookCheck } from './check.ts'
import { createConcurrencyLimit } from './concurrency-limit.ts'
import type { CountStore } from './count-store.ts'
import type { Webhooks } from './webhooks.ts'

interface Deps {
  readonly admission: Admission
  readonly webhooks: Webhooks
  readonly check: ReturnType<typeof createWebhookCheck>
  readonly counts: Pick<CountStore, 'list'>
}

/** Period of the counts unless the caller names one. */
const countedMs = 7 * 24 * 3_600_000

/** Of the 20 connections of the pool. */
const maxRunning = 10

/** Routes of webhook deliveries and their log. */
export function serveWebhooks(app: FastifyInstance, { admission, webhooks, check, counts }: Deps): void {
  serveReceiving(app, { admission, webhooks })
  bind(app, webhookRoutes.list, async ({ query }, { ownerScope }) => {
    const filter = { ...query, ...timeRangeOf(query), owner: ownerScope }
    const { items, next_cursor } = await pageOf(
      query,
      page => webhooks.list(filter, page),
      ({ id }) => id,
    )
    return { deliveries: items, next_cursor }
  })
  bind(app, webhookRoutes.send, ({ body }, caller) => webhooks.send(body.agent_id, body, caller))
  bind(app, webhookRoutes.preview, ({ params, body }, caller) => webhooks.preview(params.agent_id, body, caller))
  bind(app, webhookRoutes.check, ({ params, body }, caller) => check(params.agent_id, body, caller))
  bind(app, webhookRoutes.get, ({ params }, caller) => webhooks.get(params.delivery_id, caller))
  bind(app, webhookCountRoutes.list, async ({ query }, { ownerScope }) => {
    const { from = new Date(Date.now() - countedMs), to } = timeRangeOf(query)
    return { counts: await counts.list({ owner: ownerScope, agent_id: query.agent_id, from, to }) }
  })
  bind(app, webhookRoutes.replay, ({ params }, caller) => webhooks.replay(params.delivery_id, caller))
}

/** Bound by hand: the sender is checked before the body is read, the body is bytes, and one response is a 503. */
function serveReceiving(app: FastifyInstance, { admission, webhooks }: Pick<Deps, 'admission' | 'webhooks'>): void {
  const route = webhookRoutes.receive
  const admitted = new WeakMap<FastifyRequest, Admitted>()
  const limited = createConcurrencyLimit(maxRunning)
  void app.register(async scope => {
    scope.removeAllContentTypeParsers()
    // Also bodies without a type; `requireJson` has checked the type before.
    const options = { parseAs: 'buffer', bodyLimit: route.bodyLimit } as const
    scope.addContentTypeParser('*', options, async (_request: FastifyRequest, body: Buffer) => body)
    scope.route({
      method: route.method,
      url: fastifyPath(route),
      config: { route },
      onRequest: async request => {
        const { agent_id: agentId } = request.params as { agent_id: string }
        admitted.set(request, await limited(() => admission.admit(agentId, request.raw)))
        requireJson(request)
      },
      handler: async (request, reply) => {
        const sender = admitted.get(request)
        if (!sender) throw new AppError('unauthorized', 'unauthorized')
        const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0)
        const answer = await limited(() => webhooks.receive(sender, { headers: request.headers, body }))
        if ('challenge' in answer) return reply.code(200).send(answer)
        return answer.status === 'processing'
          ? reply.code(503).header('retry-after', '5').send(answer)
          : reply.code(202).send(answer)
      },
    })
  })
}

/** `application/json`, any type that ends in `+json`, or none. Security: S26. */
function requireJson({ headers }: FastifyRequest): void {
  rejectEncoded(headers)
  const { 'content-type': type } = headers
  if (
    type !== undefined &&
    !/^application\/json[ \t]*(;.*)?$|^[\w.-]+\/[\w.-]+\+json[ \t]*(;.*)?$/i.test(type.trim())
  ) {
    throw new AppError('unsupported_media_type', 'content-type must be application/json or end in +json')
  }
}
