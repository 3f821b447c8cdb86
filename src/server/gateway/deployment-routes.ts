import type { FastifyInstance } from 'fastify'
import type { Pool } from 'pg'
import { deploymentRoutes } from '../../contract/deployments.ts'
import type { Audit } from '../audit/audit.ts'
import { transaction } from '../db/connect.ts'
import { sqlOfClient } from '../db/once.ts'
import { bind } from '../http/bind.ts'
import { pageOf } from '../http/page.ts'
import { rejectNarrow } from '../http/reach.ts'
import { invalidCursor, notFound } from '../platform/errors.ts'
import type { Gateway } from './gateway.ts'

interface Deps {
  readonly gateway: Pick<Gateway, 'allDeployments' | 'deployment' | 'endCooldown'>
  readonly pool: Pool
  readonly audit: Audit
}

/** Serves the deployments of all models to admins. */
export function serveDeployments(app: FastifyInstance, { gateway, pool, audit }: Deps): void {
  bind(app, deploymentRoutes.list, async ({ query }) => {
    const { model_name: name } = query
    const all = gateway.allDeployments().filter(({ model_name }) => name === undefined || model_name === name)
    const { items, next_cursor } = await pageOf(
      query,
      async ({ after, limit }) => {
        const from = after === undefined ? 0 : all.findIndex(({ id }) => id === after) + 1
        if (after !== undefined && from === 0) throw invalidCursor()
        return all.slice(from, from + limit)
      },
      ({ id }) => id,
    )
    return { deployments: items, next_cursor }
  })
  bind(app, deploymentRoutes.endCooldown, async ({ params: { deployment_id: id } }, caller, { actor }) => {
    rejectNarrow({ caller })
    if (!gateway.deployment(id)) throw notFound('deployment', id)
    await transaction(pool, client =>
      audit.record(sqlOfClient(client), { actor, action: 'deployment.end_cooldown', objectId: id }),
    )
    gateway.endCooldown(id)
    return { ok: true as const }
  })
}
