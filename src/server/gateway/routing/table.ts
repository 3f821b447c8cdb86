import { isDeepStrictEqual } from 'node:util'
import type { Config } from '../../config/config.ts'
import type { Deployment } from '../../config/deployments.ts'
import type { KeyAccess } from '../../http/caller.ts'
import { AppError, invalid } from '../../platform/errors.ts'
import { type CallKind, type DeployedModel, isCount } from '../core/call.ts'
import { demoDeployment } from '../demo/demo-adapter.ts'
import { isEmbedding } from '../endpoints/embedding-formats.ts'
import { isEndpoint, pathOfKind } from '../endpoints/table.ts'
import type { AdapterFor } from '../format-adapters.ts'
import { createPriceBook, type PriceBook } from '../pricing/price-book.ts'
import { isEndpointPriced } from '../pricing/unit-prices.ts'
import { type Catalogue, createCatalogue } from './known-models.ts'
import { createModelList, type ModelList } from './model-list.ts'
import { fullNameOf, unknownModel } from './model-names.ts'
import type { Served } from './router.ts'

/** The part of the configuration that can change while the service runs. */
export type GatewayConfig = Pick<Config, 'deployments' | 'demo' | 'limits' | 'router' | 'prices' | 'configuredAt'>

/** Routing table of one configuration. Immutable: a new configuration gets a new table. */
export interface RoutingTable {
  readonly config: GatewayConfig
  readonly list: ModelList
  readonly prices: PriceBook
  /** True when any model has fallbacks. */
  readonly hasFallbacks: boolean
  /** True when a model is configured to record the bodies of its calls. */
  readonly logsBodies: boolean
  /** True when everything that a call of `kind` uses has a known price. */
  isPriced(kind: CallKind, model: DeployedModel): boolean
  /** The deployment of that id. */
  deployment(id: string): Deployment | undefined
  /**
   * Returns the deployments of a name that can serve calls of `kind`; empty for an unknown name. With `prices.unknown:
   * refuse`, deployments without a known price are left out, except for token counts, which are free.
   */
  served(kind: CallKind, name: string): readonly Served[]
  /** Returns the full name: `name` itself, or for a bare name, that of the only configured provider with the model. */
  nameOf(name: string): string
  /** Creates the error for an unknown name. Suggests similar names that the key may use. */
  unknown(name: string, key?: KeyAccess): AppError
  /** Returns since when a deployment with that id is configured, as far as this process knows. Unix seconds. */
  since(id: string): number | undefined
  /** As `served`, but throws AppError when there is none. It suggests only names that the key may use. */
  requireServed(kind: CallKind, name: string, key: KeyAccess | undefined): readonly Served[]
}

const maxCachedGroups = 4_000

const kinds: readonly CallKind[] = ['messages', 'chat', 'responses', 'embeddings', 'gemini']

/**
 * Creates a table. Deployments equal to those of `before` stay the same objects, so that their state (cooldowns, load)
 * is kept.
 */
export function createRoutingTable(config: GatewayConfig, adapterFor: AdapterFor, before?: RoutingTable): RoutingTable {
  const configured = config.deployments.map(deployment => {
    const previous = before?.deployment(deployment.id)
    return previous && isDeepStrictEqual(previous, deployment) ? previous : deployment
  })
  const deployments = config.demo ? [...configured, demoDeployment] : configured
  const catalogue = createCatalogue(deployments)
  const byId = new Map(deployments.map(deployment => [deployment.id, deployment]))
  const isServed = (deployment: Deployment) =>
    kinds.some(kind => adapterFor(kind, { deployment, upstreamModel: deployment.upstreamModel }) !== undefined)
  const prices = createPriceBook(config.prices)
  const isPriced: RoutingTable['isPriced'] = (kind, model) => {
    const { price } = prices.factsOf(model)
    if (isEndpoint(kind)) return isEndpointPriced(kind, model, price)
    // Embeddings have no output tokens.
    return price !== undefined && (isEmbedding(kind) || price.rates.output !== undefined)
  }
  const isRejected = (kind: CallKind, model: DeployedModel): boolean =>
    config.prices.unknown === 'refuse' && !isCount(kind) && !isPriced(kind, model)

  const find = (kind: CallKind, name: string): readonly Served[] => {
    if (!catalogue.has(name)) return []
    return catalogue.resolve(name).flatMap(model => {
      const chosen = adapterFor(kind, model)
      return chosen && !isRejected(kind, model) ? [{ ...model, ...chosen }] : []
    })
  }

  const now = Math.floor(Date.now() / 1_000)
  const startedAt = before ? now : (config.configuredAt ?? now)
  const since = new Map(deployments.map(({ id }) => [id, before?.since(id) ?? startedAt]))
  const list = createModelList({ catalogue, prices, isServed, since: ({ id }) => since.get(id) ?? startedAt })

  const fullNames = new Map<string, string>()
  const nameOf = (name: string): string => {
    const cached = fullNames.get(name)
    if (cached !== undefined) return cached
    const full = fullNameOf(catalogue, name)
    if (fullNames.size >= maxCachedGroups) fullNames.clear()
    fullNames.set(name, full)
    return full
  }

  // Bounded: callers choose the names that a wildcard covers.
  const groups = new Map<string, readonly Served[]>()
  const served: RoutingTable['served'] = (kind, name) => {
    const key = `${kind} ${name}`
    const cached = groups.get(key)
    if (cached) return cached
    const group = find(kind, name)
    if (groups.size >= maxCachedGroups) groups.clear()
    groups.set(key, group)
    return group
  }

  return {
    config: { ...config, deployments: configured },
    list,
    nameOf,
    unknown: (name, key) => unknownModel(name, { catalogue, list, key }),
    since: id => since.get(id),
    prices,
    logsBodies: deployments.some(({ logBodiesUntilMs }) => logBodiesUntilMs !== undefined),
    hasFallbacks: hasEntries(config.router),
    isPriced,
    deployment: id => byId.get(id),
    served,
    requireServed(kind, name, key) {
      const group = served(kind, name)
      if (group.length > 0) return group
      if (!catalogue.has(name)) throw unknownModel(name, { catalogue, list, key })
      const isUnpriced = catalogue.resolve(name).some(served => adapterFor(kind, served) !== undefined)
      throw isUnpriced ? unpriced(name) : unserved(kind, { catalogue, name, adapterFor, isServed })
    },
  }
}

const hasEntries = ({ fallbacks, contextWindowFallbacks, policyFallbacks }: Config['router']): boolean =>
  [fallbacks, contextWindowFallbacks, policyFallbacks].some(table => Object.keys(table).length > 0)

const unpriced = (name: string): Error =>
  new AppError(
    'forbidden',
    `model ${name.slice(0, 200)} has no known price, and prices.unknown is refuse; set the price of the model`,
  )

interface UnservedModel {
  readonly catalogue: Catalogue
  readonly name: string
  readonly adapterFor: AdapterFor
  readonly isServed: (deployment: Deployment) => boolean
}

/** Creates the error for a model that cannot serve calls of `kind`. Names the paths that it can serve. */
function unserved(kind: CallKind, { catalogue, name, adapterFor, isServed }: UnservedModel): Error {
  const [first] = catalogue.resolve(name)
  const model = `model ${name.slice(0, 200)}`
  if (!first || !isServed(first.deployment))
    return invalid(`${model} uses protocol ${first?.deployment.protocols[0]}, which this version does not support`)
  const paths = [...pathOfKind].flatMap(([known, path]) => (adapterFor(known, first) ? [path] : []))
  return invalid(
    `${model} does not support ${pathOfKind.get(kind) ?? 'this endpoint'}; it supports ${paths.join(', ')}`,
  )
}
