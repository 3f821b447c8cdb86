import type { Transcript } from './transcript.ts'

/** Trims all tool results up to one. */
export interface Trim {
  /** The id of its tool call. */
  readonly until: string
  /** Estimated tokens saved in the next request. */
  readonly saves: number
}

/**
 * Selects all tool results except the newest ones with `retained` tokens in total. Trims rarely and many at once, because a
 * provider's prompt cache ends where a request starts to differ. Results that no model has seen stay. Returns undefined
 * when there is nothing to trim.
 */
export function trimOf({ wholeResults }: Pick<Transcript, 'wholeResults'>, retained: number): Trim | undefined {
  let left = retained
  const newest = wholeResults.findLastIndex(({ tokens }) => {
    left -= tokens
    return left < 0
  })
  const until = wholeResults[newest]?.id
  const saves = wholeResults.slice(0, newest + 1).reduce((sum, result) => sum + result.saves, 0)
  return until === undefined || saves === 0 ? undefined : { until, saves }
}
