import { createAppliedRates } from './cost.ts'
import type { ModelFacts, PriceBook } from './price-book.ts'
import { scaled } from './rates.ts'

/** Price of the batch APIs of Anthropic and OpenAI as a share of the usual price. Source: their pages of prices. */
const usualFactor = 0.5

/** Returns the price book of the providers' batch APIs. Tokens cost a share of the usual price, tools of the provider their fees. */
export const batchPrices = ({ factsOf, listedPrice }: PriceBook): PriceBook => ({
  factsOf(target): ModelFacts {
    const { price, ...facts } = factsOf(target)
    if (!price) return facts
    const rates = scaled(price.rates, target.deployment.batchPriceFactor ?? usualFactor)
    const batchPrice = {
      rates,
      source: price.source,
      label: `${price.label}, batch`,
      applied: createAppliedRates(rates),
    }
    return { ...facts, price: batchPrice }
  },
  listedPrice,
})
