import type { FastifyInstance } from 'fastify'
import { usageRoutes } from '../../../contract/usage.ts'
import { bind } from '../../http/bind.ts'
import type { BodyRecords } from './records.ts'

/** Serves the recorded bodies of calls, to admins. */
export function serveCallBodies(app: FastifyInstance, { records }: { readonly records: BodyRecords }): void {
  bind(app, usageRoutes.bodies, ({ params }, caller, { actor }) => records.read(params.request_id, { caller, actor }))

  bind(app, usageRoutes.deleteBodies, ({ params }, caller, { actor }) =>
    records.remove(params.request_id, { caller, actor }),
  )
}
