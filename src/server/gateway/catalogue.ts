import type { Deployment } from '../config/config.ts'
import { notFound } from '../platform/errors.ts'
import type { Target } from './call.ts'

/** The deployments by the names that clients send. */
export interface Catalogue {
  readonly deployments: readonly Deployment[]
  /** All deployments that may serve `model`, each with its own name for it. Throws `not_found` for an unknown one. */
  resolve(model: string): readonly Target[]
  has(model: string): boolean
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
    resolve(model) {
      const group = groupOf(model)
      if (!group) throw notFound('model', model.slice(0, 200))
      return group.map(deployment => ({ deployment, upstreamModel: upstreamName(deployment, model) }))
    },
  }
}

const upstreamName = ({ alias, upstreamModel }: Deployment, model: string): string =>
  upstreamModel.endsWith('*') ? upstreamModel.slice(0, -1) + model.slice(alias.length - 1) : upstreamModel
