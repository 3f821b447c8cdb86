import type { Call, DeployedModel } from '../core/call.ts'
import type { TokenCounts } from '../tokens/token-counts.ts'
import { costOf } from './cost.ts'
import { imageToolCharge } from './image-tool.ts'
import type { PriceBook } from './price-book.ts'
import { priceInTier } from './service-tier.ts'
import { toolCallsOf, toolChargeOf } from './tool-fees.ts'
import { type Charge, noCharge, sumUsd } from './unit-prices.ts'

interface UsedTokens {
  readonly call: Pick<Call, 'kind' | 'body'>
  readonly target: DeployedModel
  readonly usage: TokenCounts
  readonly prices: PriceBook
}

/** Returns the charge of a call for tokens and for tools that the provider ran. */
export function tokenChargeOf({ call, target, usage, prices }: UsedTokens): Charge {
  const usual = prices.factsOf(target).price
  if (!usual) return noCharge
  const price = priceInTier(usual, target, { call, stated: usage.tier })
  const tools = toolChargeOf(target, toolCallsOf(usage, call))
  const images = imageToolCharge(target, call, usage.images, prices)
  const more = tools.pico + images.pico
  return {
    costUsd: sumUsd(costOf(price.rates, usage), more),
    rates: more === 0n ? price.applied(usage) : { ...price.applied(usage), ...tools.rates, ...images.rates },
    priceSource: price.label,
  }
}
