/** What a budget bar needs of a key or a budget. */
export interface BudgetFigures {
  /** US dollars per period; null: no limit. */
  readonly max_budget: number | null
  readonly spend: number
  readonly reserved: number
}

/** How full a budget is. Shares are of the limit, together at most 1. */
export interface BudgetUse {
  readonly spentShare: number
  readonly reservedShare: number
  /** Spent and reserved in percent of the limit; may exceed 100. */
  readonly percent: number
  readonly state: 'room' | 'near' | 'used'
}

const nearShare = 0.8

/** Returns how full a budget is; undefined without a limit. A limit of 0 is used up. */
export function budgetUse({ max_budget: max, spend, reserved }: BudgetFigures): BudgetUse | undefined {
  if (max === null) return undefined
  if (max <= 0) return { spentShare: 1, reservedShare: 0, percent: 100, state: 'used' }
  const spentShare = Math.min(1, spend / max)
  const reservedShare = Math.min(1 - spentShare, reserved / max)
  const share = (spend + reserved) / max
  return {
    spentShare,
    reservedShare,
    percent: Math.floor(share * 100),
    state: spend >= max ? 'used' : share >= nearShare ? 'near' : 'room',
  }
}

const units: Readonly<Record<string, string>> = { h: 'hour', d: 'day', w: 'week', mo: 'month' }

/** Words for the period of a budget: `a month`, `every 30 days`, `in total` for a budget that never resets. */
export function periodWords(duration: string | null): string {
  const [, amount, unit = ''] = /^(\d+)(h|d|w|mo)$/.exec(duration ?? '') ?? []
  const word = units[unit]
  if (word === undefined) return duration ?? 'in total'
  if (amount === '1') return word === 'hour' ? 'an hour' : `a ${word}`
  return `every ${amount} ${word}s`
}

/** US dollars without trailing zeros, for sentences: `$50`, `$0.50`. */
export const dollars = (usd: number): string =>
  usd.toLocaleString('en-US', {
    style: 'currency',
    currency: 'USD',
    minimumFractionDigits: Number.isInteger(usd) ? 0 : 2,
    maximumFractionDigits: 6,
  })
