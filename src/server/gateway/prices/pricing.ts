import type { ModelPricing } from '../../../contract/models.ts'
import type { ModelPrice } from './price-book.ts'
import { type KnownRates, rateAt } from './rates.ts'

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
