import { picoDollarsOf, usdOf } from '../../platform/usd.ts'
import { baseModelOf, type DeployedModel, type EndpointKind, type Unit, type Units } from '../core/call.ts'
import { endpoints } from '../endpoints/table.ts'
import type { TokenCounts } from '../tokens/token-counts.ts'
import { costOf, picoOf } from './cost.ts'
import type { ModelPrice } from './price-book.ts'

/** US dollars per unit. */
type UnitRates = Readonly<Partial<Record<Unit, number>>>

/** Request fields that determine the price of an image besides the model. */
export interface ImageSize {
  readonly size?: unknown
  readonly quality?: unknown
}

interface Listed {
  readonly model: RegExp
  /** `audio_token` and `image_token` are surcharges over a text token. */
  readonly rates: UnitRates | ((image: ImageSize) => UnitRates)
}

const million = 1e-6

/**
 * Prices of OpenAI's models that are not charged by tokens alone, also under their Azure names. For transcription
 * models audio costs as much as text. Source: OpenAI's page of each model, "Pricing"; for DALL·E and Azure LiteLLM's
 * model_prices_and_context_window.json.
 */
const listed: readonly Listed[] = [
  { model: /^tts(-1)?-hd/, rates: { character: 30 * million } },
  { model: /^tts(-1|$)/, rates: { character: 15 * million } },
  { model: /^whisper(-1|$)/, rates: { second: 0.006 / 60 } },
  { model: /^gpt-transcribe/, rates: { second: 0.0045 / 60 } },
  { model: /moderation/, rates: { query: 0 } },
  { model: /^gpt-image-1-mini/, rates: { image_token: 0.5 * million } },
  { model: /^(gpt-image-1\.5|chatgpt-image)/, rates: { image_token: 3 * million } },
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

/** Reports whether a provider publishes prices per unit for a model. */
export const hasUnitPrice = (provider: string, model: string): boolean =>
  (provider === 'openai' || provider === 'azure') && listed.some(entry => entry.model.test(model))

/** Returns the rates of a model: its deployment's parameters override the published ones. */
function unitRatesOf(target: DeployedModel, image: ImageSize): UnitRates {
  const { deployment } = target
  const provider = deployment.baseModel?.provider ?? deployment.provider
  const isOpenAi = provider === 'openai' || provider === 'azure'
  const found = isOpenAi ? listed.find(({ model }) => model.test(baseModelOf(target)))?.rates : undefined
  return { ...(typeof found === 'function' ? found(image) : found), ...deployment.unitPrices }
}

/** Cost of a call and the applied rates. */
export interface Charge {
  /** US dollars as an exact decimal; undefined when a required rate is unknown. */
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

/** Returns the charge of a call: by the endpoint's own unit where that has a rate, else by tokens. */
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
  const surcharges = surchargedTokens.filter(name => rates[name] !== undefined && units[name] !== undefined)
  const more = surcharges.reduce((sum, name) => sum + picoOf(rates[name] ?? 0, units[name] ?? 0), 0n)
  const applied = Object.fromEntries(surcharges.map(name => [name, usdOf(picoOf(rates[name] ?? 0, 1))]))
  return {
    costUsd: sumUsd(costOf(price.rates, usage), more),
    rates: { ...price.applied(usage), ...applied },
    priceSource: price.label,
  }
}

/** Charge of a call without a known price. */
export const noCharge: Charge = { costUsd: undefined, rates: undefined, priceSource: undefined }
const surchargedTokens = ['audio_token', 'image_token'] as const

/** Adds a charge in pico-dollars to a cost; an unknown cost stays unknown. */
export const sumUsd = (usd: string | undefined, more: bigint): string | undefined => {
  if (usd === undefined || more === 0n) return usd
  return usdOf(picoDollarsOf(usd) + more)
}

/** Reports whether calls of an endpoint have a known price for a model. */
export function isEndpointPriced(kind: EndpointKind, model: DeployedModel, price: ModelPrice | undefined): boolean {
  const { unit, hasOutput } = endpoints[kind]
  if (unit && unitRatesOf(model, {})[unit] !== undefined) return true
  return price !== undefined && (!hasOutput || price.rates.output !== undefined)
}
