import type { Transcript } from './transcript.ts'

/** Up to which tool result the older ones are trimmed. */
export interface Trim {
  /** The id of its tool call. */
  readonly until: string
  /** Tokens less in the next request, an estimate. */
  readonly saves: number
}

/**
 * Trims all results but the newest ones, of `kept` tokens together: seldom and many at once, since a provider's prompt cache ends
 * where a request begins to differ. Results that no model has seen yet stay. Undefined when there is nothing to trim.
 */
export function trimOf({ wholeResults }: Pick<Transcript, 'wholeResults'>, kept: number): Trim | undefined {
  let left = kept
  const newest = wholeResults.findLastIndex(({ tokens }) => {
    left -= tokens
    return left < 0
  })
  const until = wholeResults[newest]?.id
  const saves = wholeResults.slice(0, newest + 1).reduce((sum, result) => sum + result.saves, 0)
  return until === undefined || saves === 0 ? undefined : { until, saves }
}
