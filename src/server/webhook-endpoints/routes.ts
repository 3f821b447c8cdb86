import type { FastifyInstance } from 'fastify'
import { webhookEndpointRoutes as routes } from '../../contract/webhook-endpoints.ts'
import { bind } from '../http/bind.ts'
import { pageOf } from '../http/page.ts'
import type { Endpoints } from './endpoints.ts'

/** The routes of webhook endpoints. A scoped caller sees and writes only its owner's endpoints. */
export function serveWebhookEndpoints(app: FastifyInstance, { endpoints }: { endpoints: Endpoints }): void {
  bind(app, routes.list, async ({ query }, caller) => {
    const { items, next_cursor } = await pageOf(
      query,
      page => endpoints.list(caller, page),
      ({ id }) => id,
    )
    return { endpoints: items, next_cursor }
  })
  bind(app, routes.create, ({ body }, caller, { actor, idempotency }) =>
    endpoints.create(body, { caller, actor, idempotency }),
  )
  bind(app, routes.get, ({ params }, caller) => endpoints.get(params.endpoint_id, caller))
  bind(app, routes.update, ({ params, body }, caller, { actor }) =>
    endpoints.update(params.endpoint_id, body, { caller, actor }),
  )
  bind(app, routes.remove, async ({ params }, caller, { actor }) => {
    await endpoints.remove(params.endpoint_id, { caller, actor })
    return { ok: true as const }
  })
  bind(app, routes.rotate, ({ params, body }, caller, { actor, idempotency }) =>
    endpoints.rotate(params.endpoint_id, body?.grace, { caller, actor, idempotency }),
  )
  bind(app, routes.test, ({ params }, caller) => endpoints.test(params.endpoint_id, caller))
  bind(app, routes.deliveries, async ({ params, query }, caller) => {
    const filter = { state: query.state, sessionId: query.session_id }
    const { items, next_cursor } = await pageOf(
      query,
      page => endpoints.deliveriesOf(params.endpoint_id, caller, { ...filter, ...page }),
      ({ id }) => id,
    )
    return { deliveries: items, next_cursor }
  })
  bind(app, routes.replay, ({ params }, caller) => endpoints.replay(params.endpoint_id, params.delivery_id, caller))
}
