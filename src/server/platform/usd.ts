const picoDigits = 12
const zero = 0x30

/**
 * Converts pico-dollars (10^-12 US dollars) to an exact decimal of US dollars, such as `0.0042`. Must not be negative.
 */
export function usdOf(picoDollars: bigint): string {
  const digits = picoDollars.toString().padStart(picoDigits + 1, '0')
  const pointAt = digits.length - picoDigits
  let end = digits.length
  while (end > pointAt && digits.charCodeAt(end - 1) === zero) end--
  return end === pointAt ? digits.slice(0, pointAt) : `${digits.slice(0, pointAt)}.${digits.slice(pointAt, end)}`
}

/** Converts an exact decimal of US dollars to pico-dollars; truncates smaller fractions. */
export const picoDollarsOf = (usd: string): bigint => {
  const [whole = '', fraction = ''] = usd.split('.')
  return BigInt(`${whole}${fraction.slice(0, picoDigits).padEnd(picoDigits, '0')}`)
}

/** Returns the smaller of two exact decimals. */
export const lesserUsd = (one: string, other: string): string =>
  picoDollarsOf(other) < picoDollarsOf(one) ? other : one

/** Returns the sum of exact decimals; `first` unchanged without others. */
export const sumUsd = (first: string | undefined, others: readonly string[]): string | undefined =>
  others.length === 0
    ? first
    : usdOf(others.reduce((sum, usd) => sum + picoDollarsOf(usd), picoDollarsOf(first ?? '0')))
