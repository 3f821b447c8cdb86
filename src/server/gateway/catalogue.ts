import type { Deployment } from '../config/config.ts'
import { notFound } from '../platform/errors.ts'
import type { DeployedModel } from './call.ts'
import { isListed } from './prices/price-table.ts'

/** The deployments by the names that clients send. */
export interface Catalogue {
  readonly deployments: readonly Deployment[]
  /** All deployments that may serve `model`, each with its own name for it. Throws `not_found` for an unknown one. */
  resolve(model: string): readonly DeployedModel[]
  has(model: string): boolean
  /** The names, with a provider, under which configured providers have the model of a bare name. */
  namesOf(bare: string): readonly string[]
}

/** Exact names win; then the longest matching `prefix*`. Source: Gateway, section 3. */
export function createCatalogue(deployments: readonly Deployment[]): Catalogue {
  const groups = Map.groupBy(deployments, ({ alias }) => alias)
  const wildcards = [...groups.keys()].filter(alias => alias.endsWith('*')).sort((a, b) => b.length - a.length)

  const groupOf = (model: string): readonly Deployment[] | undefined => {
    const exact = model.endsWith('*') ? undefined : groups.get(model)
    if (exact) return exact
    const alias = wildcards.find(name => model.length >= name.length && model.startsWith(name.slice(0, -1)))
    return alias === undefined ? undefined : groups.get(alias)
  }

  return {
    deployments,
    has: model => groupOf(model) !== undefined,
    namesOf: bare => [...new Set(deployments.flatMap(deployment => nameAt(deployment, bare) ?? []))],
    resolve(model) {
      const group = groupOf(model)
      if (!group) throw notFound('model', model.slice(0, 200))
      return group.map(deployment => ({ deployment, upstreamModel: upstreamName(deployment, model) }))
    },
  }
}

/** `openai/gpt-5.5` for `gpt-5.5`, where the deployment has just that, or all models of a provider whose list has it. */
function nameAt({ alias, provider, upstreamModel }: Deployment, bare: string): string | undefined {
  if (alias.endsWith(`/${bare}`)) return alias
  if (!alias.endsWith('/*') || !upstreamModel.endsWith('*')) return undefined
  const isKnown = isListed(provider, `${upstreamModel.slice(0, -1)}${bare}`)
  return isKnown ? `${alias.slice(0, -1)}${bare}` : undefined
}

const upstreamName = ({ alias, upstreamModel }: Deployment, model: string): string =>
  upstreamModel.endsWith('*') ? upstreamModel.slice(0, -1) + model.slice(alias.length - 1) : upstreamModel
