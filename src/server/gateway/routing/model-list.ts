import type { Model } from '../../../contract/models.ts'
import type { Deployment } from '../../config/config.ts'
import { invalid } from '../../platform/errors.ts'
import { baseModelOf, type DeployedModel } from '../core/call.ts'
import type { PriceBook } from '../pricing/price-book.ts'
import { pricingOf } from '../pricing/price-book.ts'
import type { Catalogue } from './known-models.ts'
import { knownModels } from './known-models.ts'

/** The models that clients can be shown. */
export interface ModelList {
  /** In the order of the configuration; wildcards stand for the provider's known models. */
  readonly all: readonly Model[]
  /** Their ids. */
  readonly ids: readonly string[]
  /** Also a model that only a wildcard covers. */
  find(id: string): Model | undefined
  /** What the figures of a listed model describe: the first of its deployments, with the model's name there. */
  targetOf(id: string): DeployedModel | undefined
}

interface Sources {
  readonly catalogue: Catalogue
  readonly prices: PriceBook
  /** Deployments that it refuses are left out. */
  readonly isServed: (deployment: Deployment) => boolean
  /** Unix seconds: since when a deployment is configured. */
  readonly since: (deployment: Deployment) => number
}

/** Lists what `catalogue` can serve; figures are those of the first deployment of a model. */
export function createModelList({ catalogue, prices, isServed, since }: Sources): ModelList {
  const models = new Map<string, DeployedModel>()
  for (const deployment of catalogue.deployments.filter(isServed)) {
    for (const [id, upstreamModel] of shown(deployment))
      if (!models.has(id)) models.set(id, { deployment, upstreamModel })
  }
  // Some prices change from one day to the next, so figures are looked up anew.
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

/** The ids that a deployment is shown under, each with the model's name upstream. */
function shown(deployment: Deployment): [id: string, upstreamModel: string][] {
  const { alias, upstreamModel } = deployment
  if (!alias.endsWith('*')) return [[alias, upstreamModel]]
  // `claude-*` repeats under another name what `anthropic/*` shows, and a wildcard for one model has no names of its own.
  if (!alias.endsWith('/*') || !upstreamModel.endsWith('*')) return []
  const upstreamPrefix = upstreamModel.slice(0, -1)
  return knownModels(deployment)
    .filter(name => name.startsWith(upstreamPrefix))
    .map(name => [`${alias.slice(0, -1)}${name.slice(upstreamPrefix.length)}`, name])
}

const dateInName = /(?<!\d)(20\d{2})(-?)(0[1-9]|1[0-2])\2(0[1-9]|[12]\d|3[01])(?!\d)/

/** Unix seconds of the date in a model's name. */
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

/** One page of a list, and whether more follow in the direction of the page. An unknown id is `invalid_request`. */
export function pageOf(models: readonly Model[], { limit = 20, after_id, before_id }: Page) {
  const place = (name: string, id: string): number => {
    const at = models.findIndex(model => model.id === id)
    if (at < 0) throw invalid(`${name} names no model of this list`)
    return at
  }
  const from = after_id === undefined ? 0 : place('after_id', after_id) + 1
  const to = before_id === undefined ? models.length : place('before_id', before_id)
  // A page before an id ends right there: it holds the last ones of what is left.
  const data = before_id === undefined ? models.slice(from, to).slice(0, limit) : models.slice(from, to).slice(-limit)
  return {
    object: 'list' as const,
    data,
    has_more: Math.max(0, to - from) > data.length,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
  }
}
