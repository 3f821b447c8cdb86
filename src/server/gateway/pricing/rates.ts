import type { RateName, Rates, TieredRate, TokenPrices } from '../../config/deployments.ts'
import type { TablePeriod, TableRate } from './price-table.ts'

/** Returns a rate without tiers. */
export const flatRate = (base: number): TieredRate => ({ base: plain(base), tiers: [] })

/** Returns the rate for a call with `inputTokens`, including cached ones. */
export function rateAt({ base, tiers }: TieredRate, inputTokens: number): number {
  return tiers.findLast(({ above }) => inputTokens > above)?.rate ?? base
}

/** Converts the prices of a deployment, which are US dollars per token, to rates per million tokens. */
export function ratesOfParams(prices: TokenPrices): Rates {
  const entries = Object.entries(prices) as [RateName, number | undefined][]
  return Object.fromEntries(
    entries.flatMap(([name, perToken]) => (perToken === undefined ? [] : [[name, flatRate(perToken * 1e6)]])),
  )
}

const tableNames: Readonly<Record<RateName, keyof TablePeriod>> = {
  input: 'input_mtok',
  output: 'output_mtok',
  cacheRead: 'cache_read_mtok',
  cacheWrite5m: 'cache_write_mtok',
  cacheWrite1h: 'cache_write_1h_mtok',
  inputAudio: 'input_audio_mtok',
  cacheReadAudio: 'cache_audio_read_mtok',
  outputAudio: 'output_audio_mtok',
}

/** Returns the rates of a period of the table. */
export function ratesOfPeriod(period: TablePeriod): Rates {
  const entries = Object.entries(tableNames).flatMap(([name, key]) => {
    const rate = period[key] as TableRate | undefined
    return rate === undefined ? [] : [[name, ofTable(rate)]]
  })
  return Object.fromEntries(entries)
}

const ofTable = (rate: TableRate): TieredRate =>
  typeof rate === 'number'
    ? flatRate(rate)
    : { base: plain(rate.base), tiers: rate.tiers.map(({ start, price }) => ({ above: start, rate: plain(price) })) }

type OptionalRate = 'output' | 'inputAudio' | 'cacheReadAudio' | 'outputAudio'

/** Rates that can price any input. Audio without a rate costs as much as text. */
export type KnownRates = Required<Omit<Rates, OptionalRate>> & Pick<Rates, OptionalRate>

/**
 * Fills in missing rates; undefined without an input rate. Claude's cache writes cost 1.25 (5 minutes) and 2 times
 * (1 hour) the input rate at every provider. For all other models cached tokens cost as much as input.
 */
export function completed(rates: Rates, model: string): KnownRates | undefined {
  const { input } = rates
  if (!input) return undefined
  const isClaude = /claude/i.test(model)
  const cacheWrite5m = rates.cacheWrite5m ?? (isClaude ? times(input, 1.25) : input)
  return {
    ...rates,
    input,
    cacheRead: rates.cacheRead ?? input,
    cacheWrite5m,
    cacheWrite1h: rates.cacheWrite1h ?? (isClaude ? times(input, 2) : cacheWrite5m),
  }
}

/** Returns a share of all rates. */
export const scaled = (rates: KnownRates, factor: number): KnownRates =>
  Object.fromEntries(Object.entries(rates).map(([name, rate]) => [name, times(rate, factor)])) as unknown as KnownRates

const times = ({ base, tiers }: TieredRate, factor: number): TieredRate => ({
  base: plain(base * factor),
  tiers: tiers.map(({ above, rate }) => ({ above, rate: plain(rate * factor) })),
})

/** Rounds to a millionth of a dollar per million tokens, which removes the error of binary fractions. */
const plain = (rate: number): number => Math.round(rate * 1e6) / 1e6
