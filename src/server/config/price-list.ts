import type { ImportedModel, RateName, Rates, TieredRate } from './deployments.ts'

/** An entry of a price list, with our name of the provider. */
export interface PriceListModel extends ImportedModel {
  readonly provider: string
  readonly model: string
}

/** Price per million tokens of calls with more than `above` input tokens; 0 for the base price. */
export interface StatedRate {
  readonly name: RateName
  readonly above: number
  readonly rate: number
}

/**
 * Returns the rates of a list entry. Empty if input and output are both 0: lists use 0 for unknown prices, such as
 * those of subscriptions and self-hosted servers, and an unknown price must not count as free.
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

/** Returns a price of a list entry; undefined if absent. Throws for an invalid price. */
export function priceIn(entry: Readonly<Record<string, unknown>>, key: string, where: string): number | undefined {
  const value = entry[key]
  if (value === undefined || value === null) return undefined
  if (typeof value === 'number' && Number.isFinite(value) && value >= 0) return value
  throw new Error(`has no usable price: ${where}.${key} must be a number of 0 or more`)
}

/** Returns a limit of a list entry; undefined if absent or 0, which lists use for unknown limits. */
export const limitIn = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isSafeInteger(value) && value > 0 ? value : undefined

/** Converts to dollars per million tokens, rounded to remove floating-point noise. */
export const perMillion = (perToken: number): number => Math.round(perToken * 1e12) / 1e6

export const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
