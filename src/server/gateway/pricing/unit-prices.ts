import { baseModelOf, type DeployedModel, type EndpointKind, type Unit, type Units } from '../core/call.ts'
import { endpoints } from '../endpoints/table.ts'
import type { TokenCounts } from '../tokens/token-counts.ts'
import { costOf, usdOf } from './cost.ts'
import type { ModelPrice } from './price-book.ts'

/** US dollars per unit. */
type UnitRates = Readonly<Partial<Record<Unit, number>>>

/** What decides the price of an image besides the model. */
export interface ImageSize {
  readonly size?: unknown
  readonly quality?: unknown
}

interface Listed {
  readonly model: RegExp
  /** `audio_token` and `image_token` are what such a token costs more than one of text. */
  readonly rates: UnitRates | ((image: ImageSize) => UnitRates)
}

const million = 1e-6

/** Prices of OpenAI's models that are not per token alone. Source: its page of prices. */
const listed: readonly Listed[] = [
  { model: /^tts-1-hd/, rates: { character: 30 * million } },
  { model: /^tts-1/, rates: { character: 15 * million } },
  { model: /^whisper-1/, rates: { second: 0.0001 } },
  { model: /moderation/, rates: { query: 0 } },
  { model: /^gpt-4o-mini-transcribe/, rates: { audio_token: 1.75 * million } },
  { model: /^gpt-4o-transcribe/, rates: { audio_token: 3.5 * million } },
  { model: /^gpt-image-1-mini/, rates: { image_token: 0.5 * million } },
  { model: /^gpt-image-1$/, rates: { image_token: 5 * million } },
  { model: /^gpt-image-2/, rates: { image_token: 3 * million } },
  {
    model: /^dall-e-2/,
    rates: ({ size }) => ({ image: size === '256x256' ? 0.016 : size === '512x512' ? 0.018 : 0.02 }),
  },
  { model: /^dall-e-3/, rates: dalle3 },
]

function dalle3({ size, quality }: ImageSize): UnitRates {
  const isLarge = size !== undefined && size !== '1024x1024'
  if (quality === 'hd') return { image: isLarge ? 0.12 : 0.08 }
  return { image: isLarge ? 0.08 : 0.04 }
}

/** True for a model of the provider that has published prices per unit. */
export const hasUnitPrice = (provider: string, model: string): boolean =>
  (provider === 'openai' || provider === 'azure') && listed.some(entry => entry.model.test(model))

/** The rates of a model: its deployment's parameters before the published ones. */
function unitRatesOf(target: DeployedModel, image: ImageSize): UnitRates {
  const { deployment } = target
  const provider = deployment.baseModel?.provider ?? deployment.provider
  const isOpenAi = provider === 'openai' || provider === 'azure'
  const found = isOpenAi ? listed.find(({ model }) => model.test(baseModelOf(target)))?.rates : undefined
  return { ...(typeof found === 'function' ? found(image) : found), ...deployment.unitPrices }
}

/** What one call costs, and by which rates. */
export interface Charge {
  /** US dollars as an exact decimal; undefined when a rate that it needs is not known. */
  readonly costUsd: string | undefined
  readonly rates: Readonly<Record<string, string>> | undefined
  readonly priceSource: string | undefined
}

interface Used {
  readonly kind: EndpointKind
  readonly model: DeployedModel
  readonly image: ImageSize
  readonly usage: TokenCounts
  readonly units: Units
  readonly price: ModelPrice | undefined
}

/** The charge of a call: by the endpoint's own unit where that has a rate, else by tokens. */
export function chargeOf({ kind, model, image, usage, units, price }: Used): Charge {
  const rates = unitRatesOf(model, image)
  const { unit } = endpoints[kind]
  const rate = unit && rates[unit]
  if (unit && rate !== undefined && units[unit] !== undefined) {
    const costUsd = usdOf(picoOf(rate, units[unit]))
    const own: UnitRates = model.deployment.unitPrices ?? {}
    const source = own[unit] === undefined ? 'catalogue' : 'config'
    return { costUsd, rates: { [unit]: usdOf(picoOf(rate, 1)) }, priceSource: source }
  }
  if (!price || (endpoints[kind].hasOutput && !price.rates.output)) return noCharge
  const surcharges = dearerTokens.filter(name => rates[name] !== undefined && units[name] !== undefined)
  const more = surcharges.reduce((sum, name) => sum + picoOf(rates[name] ?? 0, units[name] ?? 0), 0n)
  const applied = Object.fromEntries(surcharges.map(name => [name, usdOf(picoOf(rates[name] ?? 0, 1))]))
  return {
    costUsd: sumUsd(costOf(price.rates, usage), more),
    rates: { ...price.applied(usage), ...applied },
    priceSource: price.label,
  }
}

/** Of tools that providers run themselves. Source: the pages of prices of Anthropic, OpenAI and Google. */
const toolFees: readonly (readonly [providers: RegExp, models: RegExp, UnitRates])[] = [
  [/^(anthropic|vertex|openrouter)$/, /claude/, { web_search: 0.01 }],
  [/^(openai|azure)$/, /search-preview/, { web_search: 0.025 }],
  [/^(openai|azure)$/, /^/, { web_search: 0.01, file_search: 0.0025, code_container: 0.03 }],
  [/^(gemini|vertex)$/, /gemini-[12]\b/, { web_search: 0.035 }],
  [/^(gemini|vertex)$/, /gemini/, { web_search: 0.014 }],
]

/** US dollars for a call of each tool that the model's provider runs; empty where nobody states a fee. */
function toolFeesOf(target: DeployedModel): UnitRates {
  const { baseModel, provider, searchPrice } = target.deployment
  const [at, model] = [baseModel?.provider ?? provider, baseModelOf(target).toLowerCase()]
  const found = toolFees.find(([providers, models]) => providers.test(at) && models.test(model))?.[2]
  return searchPrice === undefined ? (found ?? {}) : { ...found, web_search: searchPrice }
}

/** The calls of providers' tools that the counts of an answer hold; absent for those that were not made. */
export const toolCallsOf = ({ web_searches, file_searches, code_containers }: TokenCounts): Units => ({
  ...(web_searches > 0 && { web_search: web_searches }),
  ...(file_searches > 0 && { file_search: file_searches }),
  ...(code_containers > 0 && { code_container: code_containers }),
})

/** The fees of calls of a provider's tools, as far as they are known: in pico-dollars, and the rates by unit. */
export function toolChargeOf(target: DeployedModel, calls: Units) {
  const fees = toolFeesOf(target)
  const charged = (Object.entries(calls) as [Unit, number][]).flatMap(([unit, count]) => {
    const fee = fees[unit]
    return fee === undefined ? [] : [{ unit, fee, pico: picoOf(fee, count) }]
  })
  return {
    pico: charged.reduce((sum, { pico }) => sum + pico, 0n),
    rates: Object.fromEntries(charged.map(({ unit, fee }) => [unit, usdOf(picoOf(fee, 1))])),
  }
}

/** The charge of a call for tokens and for tools that the provider ran. */
export function tokenChargeOf(target: DeployedModel, usage: TokenCounts, price: ModelPrice | undefined): Charge {
  if (!price) return noCharge
  const { pico, rates } = toolChargeOf(target, toolCallsOf(usage))
  return {
    costUsd: sumUsd(costOf(price.rates, usage), pico),
    rates: pico === 0n ? price.applied(usage) : { ...price.applied(usage), ...rates },
    priceSource: price.label,
  }
}

const noCharge: Charge = { costUsd: undefined, rates: undefined, priceSource: undefined }
const dearerTokens = ['audio_token', 'image_token'] as const

/** Seconds may have a fraction: to the millisecond. */
const picoOf = (rate: number, count: number): bigint =>
  (BigInt(Math.round(rate * 1e12)) * BigInt(Math.round(count * 1_000))) / 1_000n

const sumUsd = (usd: string | undefined, more: bigint): string | undefined => {
  if (usd === undefined || more === 0n) return usd
  const [whole = '0', fraction = ''] = usd.split('.')
  return usdOf(BigInt(`${whole}${fraction.padEnd(12, '0')}`) + more)
}

/** True when calls of an endpoint have a known price at a model. */
export function isEndpointPriced(kind: EndpointKind, model: DeployedModel, price: ModelPrice | undefined): boolean {
  const { unit, hasOutput } = endpoints[kind]
  if (unit && unitRatesOf(model, {})[unit] !== undefined) return true
  return price !== undefined && (!hasOutput || price.rates.output !== undefined)
}
