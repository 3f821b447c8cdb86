import type { RateName } from './deployments.ts'
import { isRecord, limitIn, type PriceListModel, priceIn, ratesOfList, type StatedRate } from './price-list.ts'

type List = Readonly<Record<string, unknown>>

const providerNames: Readonly<Record<string, string>> = {
  anthropic: 'anthropic',
  openai: 'openai',
  azure: 'azure',
  google: 'gemini',
  'google-vertex': 'vertex',
  'google-vertex-anthropic': 'vertex',
  'amazon-bedrock': 'bedrock',
  openrouter: 'openrouter',
}

const rateKeys: Readonly<Record<string, RateName>> = {
  input: 'input',
  output: 'output',
  cache_read: 'cacheRead',
  cache_write: 'cacheWrite5m',
  input_audio: 'inputAudio',
  output_audio: 'outputAudio',
}

/** True for the shape of models.dev's `api.json`. */
export const isModelsDevList = (list: List): boolean =>
  Object.values(list).some(entry => isRecord(entry) && isRecord(entry['models']))

/** Returns the models of models.dev's list that our providers can serve. Its prices are per million tokens. */
export function modelsOfModelsDev(list: List): PriceListModel[] {
  return Object.entries(list).flatMap(([theirs, entry]) => {
    const provider = Object.hasOwn(providerNames, theirs) ? providerNames[theirs] : undefined
    if (provider === undefined || !isRecord(entry) || !isRecord(entry['models'])) return []
    return Object.entries(entry['models']).flatMap(([model, given]) =>
      isRecord(given) ? [{ provider, model, ...figuresOf(given, `${theirs}.${model}`) }] : [],
    )
  })
}

function figuresOf(given: List, where: string): Omit<PriceListModel, 'provider' | 'model'> {
  const cost = isRecord(given['cost']) ? given['cost'] : {}
  const limit = isRecord(given['limit']) ? given['limit'] : {}
  const contextWindow = limitIn(limit['context'])
  const maxOutput = limitIn(limit['output'])
  const stated = [
    statedRates(cost, 0, where),
    ...tiersOf(cost).map(({ rates, above }) => statedRates(rates, above, where)),
  ]
  return {
    rates: ratesOfList(stated.flat()),
    ...(contextWindow !== undefined && { contextWindow }),
    ...(maxOutput !== undefined && { maxOutput }),
  }
}

interface Tier {
  readonly rates: List
  readonly above: number
}

/**
 * Newer lists have tiers of any size, older ones only one above 200,000 tokens. If both exist, the older is less exact.
 */
function tiersOf(cost: List): Tier[] {
  const tiers = Array.isArray(cost['tiers']) ? cost['tiers'] : []
  const long = cost['context_over_200k']
  if (tiers.length === 0) return isRecord(long) ? [{ rates: long, above: 200_000 }] : []
  return tiers.filter(isRecord).flatMap(rates => {
    const above =
      isRecord(rates['tier']) && rates['tier']['type'] === 'context' ? limitIn(rates['tier']['size']) : undefined
    return above === undefined ? [] : [{ rates, above }]
  })
}

function statedRates(rates: List, above: number, where: string): StatedRate[] {
  return Object.entries(rateKeys).flatMap(([key, name]) => {
    const rate = priceIn(rates, key, `${where}.cost`)
    return rate === undefined ? [] : [{ name, above, rate }]
  })
}
