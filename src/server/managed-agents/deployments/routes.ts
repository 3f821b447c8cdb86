import type { FastifyInstance } from 'fastify'
import { managedDeploymentRoutes as routes } from '../../../contract/managed-deployments.ts'
import { bind } from '../../http/bind.ts'
import { createdRange } from '../../http/created-range.ts'
import { byId, listOf } from '../lists.ts'
import type { Deployments } from './deployments.ts'

/** Serves the deployments of the Managed Agents dialect and their runs. */
export function serveDeployments(app: FastifyInstance, { deployments }: { deployments: Deployments }): void {
  bind(app, routes.create, ({ body }, caller, { actor, idempotency }) =>
    deployments.create(body, { caller, actor }, idempotency),
  )
  bind(app, routes.list, ({ query }, caller) => {
    const { agent_id: agentId, status, include_archived: withArchived = false } = query
    const filter = { ...createdRange(query), agentId, status, withArchived }
    return listOf(query, page => deployments.list({ ...page, ...filter }, caller), byId)
  })
  bind(app, routes.get, ({ params }, caller) => deployments.get(params.deployment_id, caller))
  bind(app, routes.update, ({ params, body }, caller, { actor }) =>
    deployments.update(params.deployment_id, body, { caller, actor }),
  )
  bind(app, routes.archive, ({ params }, caller, { actor }) =>
    deployments.archive(params.deployment_id, { caller, actor }),
  )
  bind(app, routes.pause, ({ params }, caller, { actor }) => deployments.pause(params.deployment_id, { caller, actor }))
  bind(app, routes.unpause, ({ params }, caller, { actor }) =>
    deployments.unpause(params.deployment_id, { caller, actor }),
  )
  bind(app, routes.run, ({ params }, caller, { idempotency }) =>
    deployments.run(params.deployment_id, caller, idempotency),
  )
  bind(app, routes.runs, ({ query }, caller) => {
    const { deployment_id: deploymentId, has_error: hasError, trigger_type: trigger } = query
    const filter = { ...createdRange(query), deploymentId, hasError, trigger }
    return listOf(query, page => deployments.runs({ ...page, ...filter }, caller), byId)
  })
  bind(app, routes.getRun, ({ params }, caller) => deployments.getRun(params.deployment_run_id, caller))
}
