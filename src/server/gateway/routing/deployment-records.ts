import type { Deployment as DeploymentRecord } from '../../../contract/deployments.ts'
import type { DeploymentState } from '../../../contract/models.ts'
import type { Deployment } from '../../config/deployments.ts'
import type { DeployedModel } from '../core/call.ts'
import { demoDeployment } from '../demo/demo-adapter.ts'
import { pricingOf } from '../pricing/price-book.ts'
import { withoutAccount } from '../upstream/bedrock.ts'
import type { createDeploymentStates } from './attempts.ts'
import type { RoutingTable } from './table.ts'

type States = Pick<ReturnType<typeof createDeploymentStates>, 'describe' | 'cooldowns'>

/** Returns all deployments of a table with their state, without hosts or keys. */
export function deploymentRecords({ config, prices }: RoutingTable, states: States): DeploymentRecord[] {
  const all = config.demo ? [...config.deployments, demoDeployment] : config.deployments
  const groups = Map.groupBy(all.map(modelOf), ({ deployment }) => deployment.alias)
  const described = new Map(
    [...groups.values()].flatMap(group => states.describe(group)).map(state => [state.id, state]),
  )
  return all.map(deployment => recordOf(deployment, { described: described.get(deployment.id), prices, states }))
}

const modelOf = (deployment: Deployment): DeployedModel => ({ deployment, upstreamModel: deployment.upstreamModel })

interface Place {
  readonly described: DeploymentState | undefined
  readonly prices: RoutingTable['prices']
  readonly states: States
}

function recordOf(deployment: Deployment, { described, prices, states }: Place): DeploymentRecord {
  if (!described) throw new Error(`deployment ${deployment.id} is not in its own group (bug)`)
  const { cooldownMs, lastErrorAgoMs } = states.cooldowns.health(deployment)
  const { contextWindow, maxOutput, price } = deployment.alias.endsWith('*')
    ? noFacts
    : prices.factsOf(modelOf(deployment))
  return {
    ...described,
    model_name: deployment.alias,
    provider: deployment.provider,
    upstream_model: withoutAccount(deployment.upstreamModel),
    protocols: [...deployment.protocols],
    weight: deployment.weight,
    is_scripted: deployment === demoDeployment,
    cooldown_ms: described.state === 'cooling' ? Math.ceil(cooldownMs) : 0,
    last_error_at: lastErrorAgoMs === undefined ? null : new Date(Date.now() - lastErrorAgoMs).toISOString(),
    context_window: contextWindow ?? null,
    max_output_tokens: maxOutput ?? null,
    pricing: price ? pricingOf(price) : null,
  }
}

/** The models of a wildcard differ. */
const noFacts = { contextWindow: undefined, maxOutput: undefined, price: undefined } as const
