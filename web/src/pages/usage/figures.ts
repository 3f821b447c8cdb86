import type { UsageFigures } from '../../../../src/contract/usage.ts'

/** `4.1 %`; `none` without a whole. */
export const percent = (part: number, whole: number): string =>
  whole === 0 ? 'none' : `${((part / whole) * 100).toFixed(1).replace(/\.0$/, '')} %`

/** An amount of the ledger with all its digits, for comparing sums. */
export const exactDollars = (usd: string | null): string => (usd === null ? 'unknown' : `$${usd}`)

/** Tokens that were written to a prompt cache. */
export const cacheWrites = (figures: UsageFigures): number =>
  figures.cache_write_5m_tokens + figures.cache_write_1h_tokens

/** All tokens that went in, from a cache or not. */
export const allInput = (figures: UsageFigures): number =>
  figures.input_tokens + figures.cache_read_tokens + cacheWrites(figures)

/** Calls without an answer: those that failed, and those whose process was killed. */
export const errors = (figures: UsageFigures): number => figures.failed_requests + figures.lost_requests
