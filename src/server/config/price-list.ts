import type { ImportedModel, RateName, Rates, TieredRate } from './config.ts'

/** One line of a price list, under our own name of the provider. */
export interface PriceListModel extends ImportedModel {
  readonly provider: string
  readonly model: string
}

/** A price per million tokens for calls with more than so much input; 0 is the price of all others. */
export interface StatedRate {
  readonly name: RateName
  readonly above: number
  readonly rate: number
}

/**
 * The rates that a list states. Empty when input and output are both 0: lists write that where they know no price, as for
 * subscriptions and servers of one's own, and what is not known must not pass as free.
 */
export function ratesOfList(stated: readonly StatedRate[]): Rates {
  const base = (name: RateName) => stated.find(rate => rate.name === name && rate.above === 0)
  if ((base('input')?.rate ?? 0) === 0 && (base('output')?.rate ?? 0) === 0) return {}
  const names = [...new Set(stated.map(({ name }) => name))]
  const entries = names.flatMap((name): [RateName, TieredRate][] => {
    const flat = base(name)
    if (!flat) return []
    const tiers = stated.filter(rate => rate.name === name && rate.above > 0).sort((a, b) => a.above - b.above)
    return [[name, { base: flat.rate, tiers: tiers.map(({ above, rate }) => ({ above, rate })) }]]
  })
  return Object.fromEntries(entries)
}

/** A price that a list states; undefined when it states none. Throws for what is no price. */
export function priceIn(entry: Readonly<Record<string, unknown>>, key: string, where: string): number | undefined {
  const value = entry[key]
  if (value === undefined || value === null) return undefined
  if (typeof value === 'number' && Number.isFinite(value) && value >= 0) return value
  throw new Error(`has no usable price: ${where}.${key} must be a number of 0 or more`)
}

/** Lists state limits of 0 where there are none to speak of. */
export const limitIn = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isSafeInteger(value) && value > 0 ? value : undefined

/** Dollars per million, without the noise that the change of unit brings. */
export const perMillion = (perToken: number): number => Math.round(perToken * 1e12) / 1e6

export const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
