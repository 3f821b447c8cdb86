import type { ModelPricing } from '../../../contract/models.ts'
import type { Deployment, ImportedModel, PriceSettings, Rates } from '../../config/config.ts'
import { baseModelOf, type DeployedModel } from '../core/call.ts'
import type { TokenCounts } from '../tokens/token-counts.ts'
import { type AppliedRates, createAppliedRates } from './cost.ts'
import { findInTable, periodAt, periodBeside, tableVersion } from './price-table.ts'
import { completed, type KnownRates, rateAt, ratesOfParams, ratesOfPeriod } from './rates.ts'

/** What a model costs, from the lists that know it. */
export interface ModelPrice {
  readonly rates: KnownRates
  /** The first of the lists that gave a rate: the deployment's parameters, an imported file, the service's own table. */
  readonly source: 'config' | 'import' | 'catalogue'
  /** The same with its version, such as `catalogue genai-prices 0.1.8`. */
  readonly label: string
  /** The rates as a call is charged with them. */
  readonly applied: (tokens: TokenCounts) => AppliedRates
}

/** What is known of a model at a deployment. */
export interface ModelFacts extends ModelLimits {
  /** For people. */
  readonly name?: string
  /** Undefined: nobody has said what it costs. It is never taken for free. */
  readonly price?: ModelPrice
}

/** Prices and limits of every model that the deployments can reach. */
export interface PriceBook {
  factsOf(target: DeployedModel): ModelFacts
}

interface Options {
  readonly imported: PriceSettings['imported']
  /** What the imported lists are known by; none by default. */
  readonly importedVersion?: string | undefined
  /** Some prices change on a day that is known before. */
  readonly now?: () => Date
}

/** Callers choose the names behind a wildcard, so what is remembered is bounded. */
const mostRemembered = 1_000
const longestName = 300
const dayMs = 86_400_000

/**
 * Joins the lists of prices rate by rate: a deployment's own parameters, then imported files, then the table. A server of
 * one's own, such as Ollama, has no price unless its deployment or a file states one.
 */
export function createPriceBook({ imported, importedVersion = '', now = () => new Date() }: Options): PriceBook {
  // By the deployment itself, not its id: after a reload another one may have that.
  let remembered = new WeakMap<Deployment, Map<string, ModelFacts>>()
  let count = 0
  let day = 0

  const memoryOf = (deployment: Deployment, today: number): Map<string, ModelFacts> => {
    if (today !== day || count >= mostRemembered) {
      remembered = new WeakMap()
      count = 0
    }
    day = today
    const known = remembered.get(deployment) ?? new Map<string, ModelFacts>()
    remembered.set(deployment, known)
    return known
  }

  return {
    factsOf({ deployment, upstreamModel }) {
      if (upstreamModel.length > longestName) return {}
      const time = now()
      const memory = memoryOf(deployment, Math.floor(time.getTime() / dayMs))
      const known = memory.get(upstreamModel)
      if (known) return known
      const { provider, model } = deployment.baseModel ?? { provider: deployment.provider, model: upstreamModel }
      // A list may know the model by its own name too, as one that was tuned.
      const stated = imported[`${deployment.provider}/${upstreamModel}`] ?? imported[`${provider}/${model}`]
      const facts = join({ deployment, provider, model, imported: stated, importedVersion, time })
      memory.set(upstreamModel, facts)
      count++
      return facts
    },
  }
}

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
  const period = (entry && periodAt(entry, time)) ?? periodBeside(provider, model)
  const table = period ? ratesOfPeriod(period) : {}
  const own = deployment.prices ? ratesOfParams(deployment.prices) : {}
  const rates = completed({ ...table, ...imported?.rates, ...own }, model)
  const limits = limitsOf(model)
  const said = deployment.capabilities ?? {}
  const contextWindow = said.contextWindow ?? imported?.contextWindow ?? entry?.context_window ?? limits.contextWindow
  const maxOutput = said.maxOutput ?? imported?.maxOutput ?? limits.maxOutput
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

/** How much a model takes and gives, in tokens. */
export interface ModelLimits {
  readonly contextWindow?: number
  readonly maxOutput?: number
}

/** The smallest of each limit; one that no model states is left out. */
export function smallestLimits(models: readonly ModelLimits[]): ModelLimits {
  const smallest = (limit: keyof ModelLimits) => {
    const stated = models.flatMap(model => model[limit] ?? [])
    return stated.length === 0 ? {} : { [limit]: Math.min(...stated) }
  }
  return { ...smallest('contextWindow'), ...smallest('maxOutput') }
}

/** What the table of prices lacks: how long answers can be, and some windows. Source: the providers' own pages. */
const limits: readonly (readonly [names: RegExp, ModelLimits])[] = [
  [/claude-(opus-(4-[678]|5)|sonnet-(4-6|5)|fable-5)/, { maxOutput: 128_000 }],
  [/claude-((opus|haiku)-4-5|sonnet-4)/, { maxOutput: 64_000 }],
  [/claude-opus-4/, { maxOutput: 32_000 }],
  [/gpt-[56](?!.*(chat|image|audio))/, { maxOutput: 128_000 }],
  [/gpt-4-1/, { maxOutput: 32_768 }],
  [/gemini-2-5(?!.*(image|tts|live|audio))/, { contextWindow: 1_048_576, maxOutput: 65_535 }],
  [/gemini-3(?!.*(image|tts|live|audio))/, { contextWindow: 1_048_576, maxOutput: 65_536 }],
]

/** The limits of a model by its name alone; empty for a name that says nothing. */
export function limitsOf(model: string): ModelLimits {
  const name = model.toLowerCase().replaceAll('.', '-')
  return limits.find(([names]) => names.test(name))?.[1] ?? {}
}

/** The limits of a model as its operator states them, else by the name of the model behind it. */
export function modelLimits(target: DeployedModel): ModelLimits {
  const { contextWindow, maxOutput } = target.deployment.capabilities ?? {}
  return {
    ...limitsOf(baseModelOf(target)),
    ...(contextWindow !== undefined && { contextWindow }),
    ...(maxOutput !== undefined && { maxOutput }),
  }
}

/** A price as clients read it. */
export function pricingOf({ rates, source }: ModelPrice): ModelPricing {
  const thresholds = new Set(Object.values(rates).flatMap(({ tiers }) => tiers.map(({ above }) => above)))
  const tiers = [...thresholds]
    .sort((a, b) => a - b)
    .map(above => ({ above_input_tokens: above, ...spelled(rates, above + 1) }))
  return { ...spelled(rates, 0), ...(tiers.length > 0 && { tiers }), source }
}

function spelled({ output, ...rates }: KnownRates, inputTokens: number) {
  return {
    input: rateAt(rates.input, inputTokens),
    output: output ? rateAt(output, inputTokens) : null,
    cache_read: rateAt(rates.cacheRead, inputTokens),
    cache_write_5m: rateAt(rates.cacheWrite5m, inputTokens),
    cache_write_1h: rateAt(rates.cacheWrite1h, inputTokens),
  }
}
