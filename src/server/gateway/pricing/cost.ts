import type { RateName, Rates } from '../../config/config.ts'
import { usdOf } from '../../platform/usd.ts'
import type { TokenCounts } from '../tokens/token-counts.ts'
import { rateAt } from './rates.ts'

/**
 * What a call costs: US dollars as an exact decimal, such as `0.0042`. Undefined when a rate that it needs is not known.
 * The call's whole input, cached tokens included, decides on the tier. Fees that no token counts, such as those of web
 * searches, are not in it.
 */
export function costOf(rates: Rates, tokens: TokenCounts): string | undefined {
  const inputTokens = inputOf(tokens)
  let picoDollars = 0n
  for (const [rateName, countName] of kinds) {
    const count = tokens[countName]
    if (count === 0) continue
    const rate = rates[rateName]
    if (!rate) return undefined
    picoDollars += BigInt(count) * perToken(rateAt(rate, inputTokens))
  }
  return usdOf(picoDollars)
}

/** Which tokens a rate is for. */
const kinds = [
  ['input', 'input_tokens'],
  ['cacheRead', 'cache_read_tokens'],
  ['cacheWrite5m', 'cache_write_5m_tokens'],
  ['cacheWrite1h', 'cache_write_1h_tokens'],
  ['output', 'output_tokens'],
] as const satisfies readonly (readonly [RateName, keyof TokenCounts])[]

/** A dollar per million tokens is a million pico-dollars per token, so rates and sums are whole numbers. */
export const perToken = (rate: number): bigint => BigInt(Math.round(rate * 1e6))

/** Pico-dollars of so many units. Seconds may have a fraction: to the millisecond. */
export const picoOf = (rate: number, count: number): bigint =>
  (BigInt(Math.round(rate * 1e12)) * BigInt(Math.round(count * 1_000))) / 1_000n

const inputOf = (tokens: TokenCounts): number =>
  tokens.input_tokens + tokens.cache_read_tokens + tokens.cache_write_5m_tokens + tokens.cache_write_1h_tokens

const spelt: Readonly<Record<RateName, string>> = {
  input: 'input',
  cacheRead: 'cache_read',
  cacheWrite5m: 'cache_write_5m',
  cacheWrite1h: 'cache_write_1h',
  output: 'output',
}

/** By kind of token: US dollars per token as exact decimals. */
export type AppliedRates = Readonly<Record<string, string>>

/**
 * Tells the rates that the cost of a call is made of. Most calls of a model have the same ones: they are spelt out once
 * for each tier.
 */
export function createAppliedRates(rates: Rates): (tokens: TokenCounts) => AppliedRates {
  const thresholds = [...new Set(Object.values(rates).flatMap(({ tiers }) => tiers.map(({ above }) => above)))]
  const byTier = new Map<number, AppliedRates>()
  return tokens => {
    const inputTokens = thresholds.length === 0 ? 0 : inputOf(tokens)
    const tier = thresholds.filter(above => inputTokens > above).length
    const known = byTier.get(tier)
    if (known) return known
    const applied = appliedAt(rates, inputTokens)
    byTier.set(tier, applied)
    return applied
  }
}

const appliedAt = (rates: Rates, inputTokens: number): AppliedRates =>
  Object.fromEntries(
    (Object.keys(spelt) as RateName[]).flatMap(name => {
      const rate = rates[name]
      return rate ? [[spelt[name], usdOf(perToken(rateAt(rate, inputTokens)))]] : []
    }),
  )
