import type { FastifyInstance } from 'fastify'
import { keyRoutes } from '../../contract/keys.ts'
import { bind } from '../http/bind.ts'
import { pageOf } from '../http/page.ts'
import type { Keys } from './keys.ts'

/** Binds the routes of virtual keys, for admins. Scoped admins access only keys of their owner. */
export function serveKeys(app: FastifyInstance, { keys }: { keys: Keys }): void {
  bind(app, keyRoutes.list, async ({ query }, caller) => {
    const { owner_id: owner, parent_id: parent, user_id: user, team_id: team } = query
    const { q, include_revoked: withRevoked = false } = query
    const filter = { owner, parent, user, team, q: q?.trim(), withRevoked }
    const { items, next_cursor } = await pageOf(
      query,
      page => keys.list({ ...filter, ...page }, caller),
      ({ id }) => id,
    )
    return { keys: items, next_cursor }
  })
  bind(app, keyRoutes.create, ({ body }, caller, { actor, idempotency }) =>
    keys.create(body ?? {}, { caller, actor, idempotency }),
  )
  bind(app, keyRoutes.get, ({ params }, caller) => keys.get(params.key_id, caller))
  bind(app, keyRoutes.update, ({ params, body }, caller, { actor }) =>
    keys.update(params.key_id, body, { caller, actor }),
  )
  bind(app, keyRoutes.rotate, ({ params, body }, caller, { actor, idempotency }) =>
    keys.rotate(params.key_id, body?.grace, { caller, actor, idempotency }),
  )
  bind(app, keyRoutes.remove, ({ params }, caller, { actor }) => keys.revoke(params.key_id, { caller, actor }))
}
