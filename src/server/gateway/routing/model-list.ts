import type { Model } from '../../../contract/models.ts'
import type { Deployment } from '../../config/deployments.ts'
import { invalid } from '../../platform/errors.ts'
import { baseModelOf, type DeployedModel } from '../core/call.ts'
import type { PriceBook } from '../pricing/price-book.ts'
import { pricingOf } from '../pricing/price-book.ts'
import type { Catalogue } from './known-models.ts'
import { knownModels } from './known-models.ts'

/** Models that clients can list. */
export interface ModelList {
  /** In the order of the configuration. A wildcard is listed as the known models of its provider. */
  readonly all: readonly Model[]
  /** Ids of the listed models. */
  readonly ids: readonly string[]
  /** Returns the model of that id, also one that only a wildcard covers. */
  find(id: string): Model | undefined
  /** Returns the deployment that prices and limits of a listed model come from: its first one. */
  targetOf(id: string): DeployedModel | undefined
}

interface Sources {
  readonly catalogue: Catalogue
  readonly prices: PriceBook
  /** False for deployments to leave out. */
  readonly isServed: (deployment: Deployment) => boolean
  /** Returns since when a deployment is configured. Unix seconds. */
  readonly since: (deployment: Deployment) => number
}

/** Creates the list of models in `catalogue`. Prices and limits are those of a model's first deployment. */
export function createModelList({ catalogue, prices, isServed, since }: Sources): ModelList {
  const models = new Map<string, DeployedModel>()
  for (const deployment of catalogue.deployments.filter(isServed)) {
    for (const [id, upstreamModel] of shown(deployment))
      if (!models.has(id)) models.set(id, { deployment, upstreamModel })
  }
  // Looked up on every call, since some prices change from one day to the next.
  const described = (id: string, target: DeployedModel) =>
    modelOf(id, target, { prices, created: releasedAt(baseModelOf(target)) ?? since(target.deployment) })
  return {
    targetOf: id => models.get(id),
    ids: [...models.keys()],
    get all() {
      return [...models].map(([id, target]) => described(id, target))
    },
    find(id) {
      const listed = models.get(id)
      if (listed) return described(id, listed)
      if (!catalogue.has(id)) return undefined
      const target = catalogue.resolve(id).find(({ deployment }) => isServed(deployment))
      return target && described(id, target)
    },
  }
}

/** Returns the ids that a deployment is listed under, each with the model's name at the upstream. */
function shown(deployment: Deployment): [id: string, upstreamModel: string][] {
  const { alias, upstreamModel } = deployment
  if (!alias.endsWith('*')) return [[alias, upstreamModel]]
  // `claude-*` would list the models of `anthropic/*` again, and a wildcard for one model has no names of its own.
  if (!alias.endsWith('/*') || !upstreamModel.endsWith('*')) return []
  const upstreamPrefix = upstreamModel.slice(0, -1)
  return knownModels(deployment)
    .filter(name => name.startsWith(upstreamPrefix))
    .map(name => [`${alias.slice(0, -1)}${name.slice(upstreamPrefix.length)}`, name])
}

const dateInName = /(?<!\d)(20\d{2})(-?)(0[1-9]|1[0-2])\2(0[1-9]|[12]\d|3[01])(?!\d)/

/** Returns the date in a model's name, as Unix seconds. */
function releasedAt(model: string): number | undefined {
  const [, year, , month, day] = dateInName.exec(model) ?? []
  return year === undefined ? undefined : Date.UTC(Number(year), Number(month) - 1, Number(day)) / 1_000
}

interface Facts {
  readonly prices: PriceBook
  /** Unix seconds. */
  readonly created: number
}

function modelOf(id: string, target: DeployedModel, { prices, created }: Facts): Model {
  const { provider } = target.deployment
  const { name, contextWindow, maxOutput, price } = prices.factsOf(target)
  return {
    id,
    object: 'model',
    type: 'model',
    display_name: provider === 'switchyard' ? 'Demo (scripted, not a real model)' : (name ?? id),
    created,
    created_at: new Date(created * 1_000).toISOString().replace('.000', ''),
    owned_by: provider,
    ...(contextWindow !== undefined && { context_window: contextWindow }),
    ...(maxOutput !== undefined && { max_output_tokens: maxOutput }),
    pricing: price ? pricingOf(price) : null,
  }
}

interface Page {
  readonly limit?: number | undefined
  readonly after_id?: string | undefined
  readonly before_id?: string | undefined
}

/** Returns one page of a list, and whether more follow in its direction. Throws `invalid_request` for an unknown id. */
export function pageOf(models: readonly Model[], { limit = 20, after_id, before_id }: Page) {
  const place = (name: string, id: string): number => {
    const at = models.findIndex(model => model.id === id)
    if (at < 0) throw invalid(`${name} ${JSON.stringify(id.slice(0, 200))} is not in the list of models`)
    return at
  }
  const from = after_id === undefined ? 0 : place('after_id', after_id) + 1
  const to = before_id === undefined ? models.length : place('before_id', before_id)
  // A page before an id holds the last models before it.
  const data = before_id === undefined ? models.slice(from, to).slice(0, limit) : models.slice(from, to).slice(-limit)
  return {
    object: 'list' as const,
    data,
    has_more: Math.max(0, to - from) > data.length,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
  }
}
