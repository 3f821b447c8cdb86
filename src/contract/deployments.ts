import { type Static, Type } from 'typebox'
import { DeploymentState, ModelPricing } from './models.ts'
import { named } from './named.ts'
import { route } from './route.ts'
import { DateTime, NextCursor, Nullable, pageQuery } from './schemas.ts'

/** An upstream of a model with its state, as seen by the process that responds. */
export const Deployment = named(
  'Deployment',
  Type.Object({
    ...DeploymentState.properties,
    model_name: Type.String({ description: 'Name that clients send' }),
    provider: Type.String(),
    upstream_model: Type.String(),
    protocols: Type.Array(Type.String()),
    weight: Type.Number(),
    is_scripted: Type.Boolean({ description: 'True for `demo`, whose answers are written by the service' }),
    cooldown_ms: Type.Integer({ description: 'Cooldown that is left; 0 unless cooling' }),
    last_error_at: Nullable(DateTime, 'Time of `last_error`, by the clock of this process'),
    context_window: Nullable(Type.Integer()),
    max_output_tokens: Nullable(Type.Integer()),
    pricing: Nullable(ModelPricing, 'null: unknown, also for a wildcard, whose models differ'),
  }),
)
export type Deployment = Static<typeof Deployment>

const base = { access: 'admin', errorShape: 'nested' } as const

export const deploymentRoutes = {
  list: route({
    ...base,
    id: 'deployments.list',
    method: 'GET',
    path: '/api/deployments',
    query: Type.Object({
      ...pageQuery,
      model_name: Type.Optional(Type.String({ maxLength: 200, description: 'Model that callers name' })),
    }),
    responses: { 200: Type.Object({ deployments: Type.Array(Deployment), next_cursor: NextCursor }) },
    summary: 'List deployments',
    description:
      'Lists the upstreams of all models with their health, cooldown, last error, calls in flight, limits and prices, in the order of the configuration. A model with one deployment never cools down.',
  }),
  endCooldown: route({
    ...base,
    id: 'deployments.end_cooldown',
    method: 'DELETE',
    path: '/api/deployments/{deployment_id}/cooldown',
    params: Type.Object({ deployment_id: Type.String({ description: 'Id of the deployment, as in the list' }) }),
    responses: { 200: Type.Object({ ok: Type.Literal(true) }) },
    summary: 'End the cooldown of a deployment',
    description:
      'Lets calls use the deployment again at once, on every replica. New failures start a new cooldown. Has no effect on a deployment that does not cool down. Answers 403 for limited admin keys.',
  }),
}
