import { isDeepStrictEqual } from 'node:util'
import type { Config, Deployment } from '../../config/config.ts'
import type { KeyAccess } from '../../http/caller.ts'
import { AppError, invalid } from '../../platform/errors.ts'
import { type CallKind, type DeployedModel, isCount } from '../core/call.ts'
import { demoDeployment } from '../demo/demo-lane.ts'
import { isEmbedding } from '../endpoints/embedding-formats.ts'
import { isEndpoint, pathOfKind } from '../endpoints/table.ts'
import type { LaneFor } from '../lanes.ts'
import { createPriceBook, type PriceBook } from '../pricing/price-book.ts'
import { isEndpointPriced } from '../pricing/unit-prices.ts'
import { type Catalogue, createCatalogue } from './known-models.ts'
import { createModelList, type ModelList } from './model-list.ts'
import { fullNameOf, unknownModel } from './model-names.ts'
import type { Served } from './router.ts'

/** The part of the configuration that can change while the service runs. */
export type GatewayConfig = Pick<Config, 'deployments' | 'demo' | 'limits' | 'router' | 'prices' | 'configuredAt'>

/** What a call is routed by. It never changes: a new configuration makes a new one, and calls at work keep theirs. */
export interface RoutingTable {
  readonly config: GatewayConfig
  readonly list: ModelList
  readonly prices: PriceBook
  /** True when any model has fallbacks. */
  readonly hasFallbacks: boolean
  /** True when a model wants the bodies of its calls recorded. */
  readonly logsBodies: boolean
  /** True when all that a call of `kind` uses has a known price. */
  isPriced(kind: CallKind, model: DeployedModel): boolean
  /** The deployment of that id. */
  deployment(id: string): Deployment | undefined
  /**
   * The deployments of a name that a lane serves for calls of `kind`; empty for an unknown name. Those without a known
   * price are left out when the configuration says so, but for counting, which is free.
   */
  served(kind: CallKind, name: string): readonly Served[]
  /** The name that serves `name`: itself, or for a bare one that of the only configured provider that has the model. */
  nameOf(name: string): string
  /** The error for a name that is not there, with what was probably meant of what the key may use. */
  unknown(name: string, key?: KeyAccess): AppError
  /** Unix seconds: since when a deployment of that id is configured, as far as this process knows. */
  since(id: string): number | undefined
  /**
   * As `served`, but throws what the caller should know when there is none: of other names only those that its key may use.
   */
  mustServe(kind: CallKind, name: string, key: KeyAccess | undefined): readonly Served[]
}

const maxGroupsFound = 4_000

const kinds: readonly CallKind[] = ['messages', 'chat', 'responses', 'embeddings', 'gemini']

/** Deployments that are as they were in `before` stay the very same objects, so that what is known of them stays too. */
export function createRoutingTable(config: GatewayConfig, laneFor: LaneFor, before?: RoutingTable): RoutingTable {
  const kept = config.deployments.map(deployment => {
    const known = before?.deployment(deployment.id)
    return known && isDeepStrictEqual(known, deployment) ? known : deployment
  })
  const deployments = config.demo ? [...kept, demoDeployment] : kept
  const catalogue = createCatalogue(deployments)
  const byId = new Map(deployments.map(deployment => [deployment.id, deployment]))
  const isServed = (deployment: Deployment) =>
    kinds.some(kind => laneFor(kind, { deployment, upstreamModel: deployment.upstreamModel }) !== undefined)
  const prices = createPriceBook(config.prices)
  const isPriced: RoutingTable['isPriced'] = (kind, model) => {
    const { price } = prices.factsOf(model)
    if (isEndpoint(kind)) return isEndpointPriced(kind, model, price)
    // Embeddings have no output to pay for.
    return price !== undefined && (isEmbedding(kind) || price.rates.output !== undefined)
  }
  const isRefused = (kind: CallKind, model: DeployedModel): boolean =>
    config.prices.unknown === 'refuse' && !isCount(kind) && !isPriced(kind, model)

  const find = (kind: CallKind, name: string): readonly Served[] => {
    if (!catalogue.has(name)) return []
    return catalogue.resolve(name).flatMap(model => {
      const way = laneFor(kind, model)
      return way && !isRefused(kind, model) ? [{ ...model, ...way }] : []
    })
  }

  const now = Math.floor(Date.now() / 1_000)
  const startedAt = before ? now : (config.configuredAt ?? now)
  const since = new Map(deployments.map(({ id }) => [id, before?.since(id) ?? startedAt]))
  const list = createModelList({ catalogue, prices, isServed, since: ({ id }) => since.get(id) ?? startedAt })

  const fullNames = new Map<string, string>()
  const nameOf = (name: string): string => {
    const known = fullNames.get(name)
    if (known !== undefined) return known
    const full = fullNameOf(catalogue, name)
    if (fullNames.size >= maxGroupsFound) fullNames.clear()
    fullNames.set(name, full)
    return full
  }

  // Names that only a wildcard covers are the callers' choice: their number is bounded.
  const found = new Map<string, readonly Served[]>()
  const served: RoutingTable['served'] = (kind, name) => {
    const key = `${kind} ${name}`
    const known = found.get(key)
    if (known) return known
    const group = find(kind, name)
    if (found.size >= maxGroupsFound) found.clear()
    found.set(key, group)
    return group
  }

  return {
    config: { ...config, deployments: kept },
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
    mustServe(kind, name, key) {
      const group = served(kind, name)
      if (group.length > 0) return group
      if (!catalogue.has(name)) throw unknownModel(name, { catalogue, list, key })
      const isUnpriced = catalogue.resolve(name).some(served => laneFor(kind, served) !== undefined)
      throw isUnpriced ? unpriced(name) : unserved(kind, { catalogue, name, laneFor, isServed })
    },
  }
}

const hasEntries = ({ fallbacks, contextWindowFallbacks, policyFallbacks }: Config['router']): boolean =>
  [fallbacks, contextWindowFallbacks, policyFallbacks].some(table => Object.keys(table).length > 0)

const unpriced = (name: string): Error =>
  new AppError(
    'forbidden',
    `model ${name.slice(0, 200)} has no known price, and the gateway is set to refuse such calls`,
  )

interface Lacking {
  readonly catalogue: Catalogue
  readonly name: string
  readonly laneFor: LaneFor
  readonly isServed: (deployment: Deployment) => boolean
}

/** The error for a model without a lane for calls of `kind`; it names the paths that the model has. */
function unserved(kind: CallKind, { catalogue, name, laneFor, isServed }: Lacking): Error {
  const [first] = catalogue.resolve(name)
  const model = `model ${name.slice(0, 200)}`
  if (!first || !isServed(first.deployment))
    return invalid(
      `${model} needs the protocol ${first?.deployment.protocols[0]}, which is not available in this version`,
    )
  const paths = [...pathOfKind].flatMap(([known, path]) => (laneFor(known, first) ? [path] : []))
  return invalid(
    `${model} has no ${pathOfKind.get(kind) ?? 'such endpoint'} at its upstream; it has ${paths.join(', ')}`,
  )
}
