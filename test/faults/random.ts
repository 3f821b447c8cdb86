/** Random choices that one seed repeats. */
export interface Random {
  readonly seed: number
  /** From 0 to below 1. */
  chance(): number
  /** A whole number from `low` to `high`, both included. */
  whole(low: number, high: number): number
  pick<T>(items: readonly T[]): T
}

/** Source: mulberry32 by Tommy Ettinger, public domain. */
export function seeded(seed: number): Random {
  let state = seed >>> 0
  const chance = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const whole = (low: number, high: number) => low + Math.floor(chance() * (high - low + 1))
  return {
    seed,
    chance,
    whole,
    pick(items) {
      const item = items[whole(0, items.length - 1)]
      if (item === undefined) throw new Error('nothing to pick from')
      return item
    },
  }
}
