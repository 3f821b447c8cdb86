import type { ModelPricing } from '../../../contract/models.ts'
import type { Deployment, ImportedModel, PriceSettings, Rates } from '../../config/deployments.ts'
import { baseModelOf, type DeployedModel } from '../core/call.ts'
import type { TokenCounts } from '../tokens/token-counts.ts'
import { type AppliedRates, createAppliedRates } from './cost.ts'
import { findInTable, periodAt, supplementaryPeriod, tableVersion } from './price-table.ts'
import { completed, type KnownRates, rateAt, ratesOfParams, ratesOfPeriod } from './rates.ts'

/** Price of a model, merged from the price lists. */
export interface ModelPrice {
  readonly rates: KnownRates
  /** First list with a rate: the deployment's parameters, an imported file, or the built-in table. */
  readonly source: 'config' | 'import' | 'catalogue'
  /** The source with its version, such as `catalogue genai-prices 0.1.8`. */
  readonly label: string
  /** Returns the rates that are applied to a call. */
  readonly applied: (tokens: TokenCounts) => AppliedRates
}

/** Name, limits and price of a model at a deployment. */
export interface ModelFacts extends ModelLimits {
  /** Display name. */
  readonly name?: string
  /** Undefined when the price is unknown; such a model is never treated as free. */
  readonly price?: ModelPrice
}

/** Prices and limits of every model that the deployments can reach. */
export interface PriceBook {
  factsOf(target: DeployedModel): ModelFacts
  /** Returns the usual price of a provider's model, whatever the parameters of a deployment say; undefined if unknown. */
  listedPrice(provider: string, model: string): ModelPrice | undefined
}

interface Options {
  readonly imported: PriceSettings['imported']
  /** Version label of the imported lists; empty by default. */
  readonly importedVersion?: string | undefined
  /** Current time, because some prices change on a known day. */
  readonly now?: () => Date
}

/** Maximum number of cached models: callers choose the names of wildcard deployments. */
const maxCached = 1_000
const maxNameLength = 300
const dayMs = 86_400_000

/**
 * Merges the price lists rate by rate: the deployment's parameters, then imported files, then the built-in table. A
 * model on a self-hosted server, such as Ollama, has no price unless its deployment or a file states one.
 */
export function createPriceBook({ imported, importedVersion = '', now = () => new Date() }: Options): PriceBook {
  // Keyed by the deployment object: after a reload another deployment may have the same id.
  let cache = new WeakMap<object, Map<string, ModelFacts>>()
  let count = 0
  let day = 0

  const cacheOf = (owner: object, today: number): Map<string, ModelFacts> => {
    if (today !== day || count >= maxCached) {
      cache = new WeakMap()
      count = 0
    }
    day = today
    const models = cache.get(owner) ?? new Map<string, ModelFacts>()
    cache.set(owner, models)
    return models
  }

  const factsFor = (owner: object, name: string, lists: (time: Date) => Lists): ModelFacts => {
    if (name.length > maxNameLength) return {}
    const time = now()
    const models = cacheOf(owner, Math.floor(time.getTime() / dayMs))
    const cached = models.get(name)
    if (cached) return cached
    const facts = join(lists(time))
    models.set(name, facts)
    count++
    return facts
  }

  return {
    factsOf: ({ deployment, upstreamModel }) =>
      factsFor(deployment, upstreamModel, time => {
        const { provider, model } = deployment.baseModel ?? { provider: deployment.provider, model: upstreamModel }
        // A list may also have the model under its own name, such as a fine-tuned model.
        const stated = imported[`${deployment.provider}/${upstreamModel}`] ?? imported[`${provider}/${model}`]
        return { deployment, provider, model, imported: stated, importedVersion, time }
      }),
    listedPrice(provider, model) {
      const name = `${provider}/${model}`
      const lists = { deployment: withoutParams, provider, model, imported: imported[name], importedVersion }
      return factsFor(withoutParams, name, time => ({ ...lists, time })).price
    },
  }
}

const withoutParams: Lists['deployment'] = {}

interface Lists {
  readonly deployment: Pick<Deployment, 'prices' | 'capabilities'>
  readonly provider: string
  readonly model: string
  readonly imported: ImportedModel | undefined
  readonly importedVersion: string
  readonly time: Date
}

function join({ deployment, provider, model, imported, importedVersion, time }: Lists): ModelFacts {
  const entry = findInTable(provider, model)
  const table = ratesOfPeriod({ ...supplementaryPeriod(provider, model), ...(entry && periodAt(entry, time)) })
  const own = deployment.prices ? ratesOfParams(deployment.prices) : {}
  const rates = completed({ ...table, ...imported?.rates, ...own }, model)
  const limits = limitsOf(model)
  const capabilities = deployment.capabilities ?? {}
  const contextWindow =
    capabilities.contextWindow ?? imported?.contextWindow ?? entry?.context_window ?? limits.contextWindow
  const maxOutput = capabilities.maxOutput ?? imported?.maxOutput ?? limits.maxOutput
  return {
    ...(entry?.name !== undefined && { name: entry.name }),
    ...(contextWindow !== undefined && { contextWindow }),
    ...(maxOutput !== undefined && { maxOutput }),
    ...(rates && { price: priceOf(rates, sourceOf(own, imported?.rates ?? {}), importedVersion) }),
  }
}

function priceOf(rates: KnownRates, source: ModelPrice['source'], importedVersion: string): ModelPrice {
  const versions = { config: '', import: importedVersion, catalogue: tableVersion() }
  return { rates, source, label: `${source} ${versions[source]}`.trim(), applied: createAppliedRates(rates) }
}

function sourceOf(own: Rates, imported: Rates): ModelPrice['source'] {
  if (Object.keys(own).length > 0) return 'config'
  return Object.keys(imported).length > 0 ? 'import' : 'catalogue'
}

/** Limits of a model in tokens. */
export interface ModelLimits {
  readonly contextWindow?: number
  readonly maxOutput?: number
}

/** Returns the minimum of each limit; a limit that no model states is left out. */
export function smallestLimits(models: readonly ModelLimits[]): ModelLimits {
  const smallest = (limit: keyof ModelLimits) => {
    const stated = models.flatMap(model => model[limit] ?? [])
    return stated.length === 0 ? {} : { [limit]: Math.min(...stated) }
  }
  return { ...smallest('contextWindow'), ...smallest('maxOutput') }
}

/** Limits that the price table lacks: maximum output and some context windows. Source: the providers' own pages. */
const limits: readonly (readonly [names: RegExp, ModelLimits])[] = [
  [/claude-(opus-(4-[678]|5)|sonnet-(4-6|5)|fable-5)/, { maxOutput: 128_000 }],
  [/claude-((opus|haiku)-4-5|sonnet-4)/, { maxOutput: 64_000 }],
  [/claude-opus-4/, { maxOutput: 32_000 }],
  [/gpt-[56](?!.*(chat|image|audio))/, { maxOutput: 128_000 }],
  [/gpt-4-1/, { maxOutput: 32_768 }],
  [/gemini-2-5(?!.*(image|tts|live|audio))/, { contextWindow: 1_048_576, maxOutput: 65_535 }],
  [/gemini-3(?!.*(image|tts|live|audio))/, { contextWindow: 1_048_576, maxOutput: 65_536 }],
]

/** Returns the limits of a model by its name alone; empty for an unknown name. */
export function limitsOf(model: string): ModelLimits {
  const name = model.toLowerCase().replaceAll('.', '-')
  return limits.find(([names]) => names.test(name))?.[1] ?? {}
}

/** Returns the limits that the operator configured for a model, else those of its base model's name. */
export function modelLimits(target: DeployedModel): ModelLimits {
  const { contextWindow, maxOutput } = target.deployment.capabilities ?? {}
  return {
    ...limitsOf(baseModelOf(target)),
    ...(contextWindow !== undefined && { contextWindow }),
    ...(maxOutput !== undefined && { maxOutput }),
  }
}

/** Returns a price in the public format. */
export function pricingOf({ rates, source }: ModelPrice): ModelPricing {
  const thresholds = new Set(Object.values(rates).flatMap(({ tiers }) => tiers.map(({ above }) => above)))
  const tiers = [...thresholds]
    .sort((a, b) => a - b)
    .map(above => ({ above_input_tokens: above, ...ratesAt(rates, above + 1) }))
  return { ...ratesAt(rates, 0), ...(tiers.length > 0 && { tiers }), source }
}

function ratesAt({ output, ...rates }: KnownRates, inputTokens: number) {
  return {
    input: rateAt(rates.input, inputTokens),
    output: output ? rateAt(output, inputTokens) : null,
    cache_read: rateAt(rates.cacheRead, inputTokens),
    cache_write_5m: rateAt(rates.cacheWrite5m, inputTokens),
    cache_write_1h: rateAt(rates.cacheWrite1h, inputTokens),
  }
}
