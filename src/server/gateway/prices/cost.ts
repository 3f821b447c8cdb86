import type { Rates, TieredRate } from '../../config/config.ts'
import type { TokenCounts } from '../counting/token-counts.ts'
import { rateAt } from './rates.ts'

/**
 * What a call costs: US dollars as an exact decimal, such as `0.0042`. Undefined when a rate that it needs is not known.
 * The call's whole input, cached tokens included, decides on the tier. Fees that no token counts, such as those of web
 * searches, are not in it.
 */
export function costOf(rates: Rates, tokens: TokenCounts): string | undefined {
  const { input_tokens, cache_read_tokens, cache_write_5m_tokens, cache_write_1h_tokens, output_tokens } = tokens
  const inputTokens = input_tokens + cache_read_tokens + cache_write_5m_tokens + cache_write_1h_tokens
  const parts: [number, TieredRate | undefined][] = [
    [input_tokens, rates.input],
    [cache_read_tokens, rates.cacheRead],
    [cache_write_5m_tokens, rates.cacheWrite5m],
    [cache_write_1h_tokens, rates.cacheWrite1h],
    [output_tokens, rates.output],
  ]
  let picoDollars = 0n
  for (const [count, rate] of parts) {
    if (count === 0) continue
    if (!rate) return undefined
    // A dollar per million tokens is a million pico-dollars per token, so rates and sums are whole numbers.
    picoDollars += BigInt(count) * BigInt(Math.round(rateAt(rate, inputTokens) * 1e6))
  }
  return decimal(picoDollars)
}

const picoDigits = 12

function decimal(picoDollars: bigint): string {
  const digits = picoDollars.toString().padStart(picoDigits + 1, '0')
  const fraction = digits.slice(-picoDigits).replace(/0+$/, '')
  return `${digits.slice(0, -picoDigits)}${fraction && `.${fraction}`}`
}
