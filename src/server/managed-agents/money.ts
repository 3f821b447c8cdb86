/** Converts US dollars to US cents, both exact decimals; fractions of a cent are truncated. */
export function centsOf(usd: string): string {
  const [, whole = '0', parts = ''] = /^(\d*)(?:\.(\d*))?$/.exec(usd) ?? []
  return BigInt(`${whole}${parts.padEnd(2, '0').slice(0, 2)}`).toString()
}

/** Converts US cents to US dollars, both exact decimals. */
export function usdOf(cents: string): string {
  const digits = cents.padStart(3, '0')
  return `${digits.slice(0, -2)}.${digits.slice(-2)}`
}
