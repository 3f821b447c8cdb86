import type { RateName, Rates } from '../../config/deployments.ts'
import { usdOf } from '../../platform/usd.ts'
import type { AudioTokens, TokenCounts } from '../tokens/token-counts.ts'
import { rateAt } from './rates.ts'

/**
 * Returns the cost of a call's tokens in US dollars as an exact decimal, such as `0.0042`; undefined when a required
 * rate is unknown. The whole input, including cached tokens, selects the tier. Fees of tools, such as web searches, are
 * not included.
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
  if (tokens.audio) picoDollars += audioSurcharge(rates, tokens, tokens.audio)
  return usdOf(picoDollars)
}

/** Returns what the audio tokens of a call cost beyond the price of text, in pico-dollars. */
function audioSurcharge(rates: Rates, tokens: TokenCounts, audio: AudioTokens): bigint {
  const inputTokens = inputOf(tokens)
  return audioKinds.reduce((sum, [audioRate, textRate, countName, totalName]) => {
    const [own, text] = [rates[audioRate], rates[textRate]]
    if (!own || !text) return sum
    const count = Math.min(audio[countName], tokens[totalName])
    return sum + BigInt(count) * (perToken(rateAt(own, inputTokens)) - perToken(rateAt(text, inputTokens)))
  }, 0n)
}

/** Rate of each kind of audio token, the rate of text in its place, and the counts of both. */
const audioKinds = [
  ['inputAudio', 'input', 'input', 'input_tokens'],
  ['cacheReadAudio', 'cacheRead', 'cacheRead', 'cache_read_tokens'],
  ['outputAudio', 'output', 'output', 'output_tokens'],
] as const satisfies readonly (readonly [RateName, RateName, keyof AudioTokens, keyof TokenCounts])[]

/** Rate and count of each kind of token. */
const kinds = [
  ['input', 'input_tokens'],
  ['cacheRead', 'cache_read_tokens'],
  ['cacheWrite5m', 'cache_write_5m_tokens'],
  ['cacheWrite1h', 'cache_write_1h_tokens'],
  ['output', 'output_tokens'],
] as const satisfies readonly (readonly [RateName, keyof TokenCounts])[]

/** Converts US dollars per million tokens to pico-dollars per token, in which rates and sums are integers. */
export const perToken = (rate: number): bigint => BigInt(Math.round(rate * 1e6))

/** Returns the pico-dollars of `count` units. Counts have up to three decimals, for seconds. */
export const picoOf = (rate: number, count: number): bigint =>
  (BigInt(Math.round(rate * 1e12)) * BigInt(Math.round(count * 1_000))) / 1_000n

const inputOf = (tokens: TokenCounts): number =>
  tokens.input_tokens + tokens.cache_read_tokens + tokens.cache_write_5m_tokens + tokens.cache_write_1h_tokens

const publicNames: Readonly<Record<RateName, string>> = {
  input: 'input',
  cacheRead: 'cache_read',
  cacheWrite5m: 'cache_write_5m',
  cacheWrite1h: 'cache_write_1h',
  output: 'output',
  inputAudio: 'input_audio',
  cacheReadAudio: 'cache_read_audio',
  outputAudio: 'output_audio',
}
/** Named only for calls with audio. */
const audioRates: ReadonlySet<string> = new Set(audioKinds.map(([name]) => name))

/** US dollars per token as exact decimals, by kind of token. */
export type AppliedRates = Readonly<Record<string, string>>

/**
 * Returns a function that lists the rates applied to a call. The lists are cached by tier, because most calls of a
 * model share them.
 */
export function createAppliedRates(rates: Rates): (tokens: TokenCounts) => AppliedRates {
  const thresholds = [...new Set(Object.values(rates).flatMap(({ tiers }) => tiers.map(({ above }) => above)))]
  const byTier = new Map<number, AppliedRates>()
  return tokens => {
    const inputTokens = thresholds.length === 0 ? 0 : inputOf(tokens)
    const tier = thresholds.filter(above => inputTokens > above).length
    if (tokens.audio) return appliedAt(rates, inputTokens, true)
    const cached = byTier.get(tier)
    if (cached) return cached
    const applied = appliedAt(rates, inputTokens, false)
    byTier.set(tier, applied)
    return applied
  }
}

const appliedAt = (rates: Rates, inputTokens: number, hasAudio: boolean): AppliedRates =>
  Object.fromEntries(
    (Object.keys(publicNames) as RateName[]).flatMap(name => {
      const rate = hasAudio || !audioRates.has(name) ? rates[name] : undefined
      return rate ? [[publicNames[name], usdOf(perToken(rateAt(rate, inputTokens)))]] : []
    }),
  )
