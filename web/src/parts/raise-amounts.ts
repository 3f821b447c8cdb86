/** Rounds up to two digits: `0.75`, `15`, `1300`. */
function rounded(usd: number): number {
  const digits = Math.floor(Math.log10(usd)) - 1
  const unit = 10 ** digits
  // Twice, because a power below 1 is not exact.
  return Number((Math.ceil(Number((usd / unit).toFixed(6))) * unit).toFixed(Math.max(0, -digits)))
}

/** Returns limits to offer in place of one: half as much again, twice and five times what is allowed or spent. */
export function raiseAmounts({ max_budget: max, spend }: { max_budget: number | null; spend: number }): number[] {
  const base = Math.max(max ?? 0, spend)
  if (base <= 0) return [5, 20, 100]
  return [1.5, 2, 5].map(factor => rounded(base * factor))
}
