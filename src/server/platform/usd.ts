const picoDigits = 12
const zero = 0x30

/** Pico-dollars, 10^-12 US dollars, as an exact decimal of US dollars, such as `0.0042`. Not for amounts below zero. */
export function usdOf(picoDollars: bigint): string {
  const digits = picoDollars.toString().padStart(picoDigits + 1, '0')
  const pointAt = digits.length - picoDigits
  let end = digits.length
  while (end > pointAt && digits.charCodeAt(end - 1) === zero) end--
  return end === pointAt ? digits.slice(0, pointAt) : `${digits.slice(0, pointAt)}.${digits.slice(pointAt, end)}`
}

/** Pico-dollars of an exact decimal of US dollars; what is smaller than one is left out. */
export const picoDollarsOf = (usd: string): bigint => {
  const [whole = '', fraction = ''] = usd.split('.')
  return BigInt(`${whole}${fraction.slice(0, picoDigits).padEnd(picoDigits, '0')}`)
}

/** The lesser of two exact decimals. */
export const lesserUsd = (one: string, other: string): string =>
  picoDollarsOf(other) < picoDollarsOf(one) ? other : one

/** The sum of exact decimals; `first` alone where there are no others. */
export const sumUsd = (first: string | undefined, others: readonly string[]): string | undefined =>
  others.length === 0
    ? first
    : usdOf(others.reduce((sum, usd) => sum + picoDollarsOf(usd), picoDollarsOf(first ?? '0')))
