const longestMs = 60_000

/**
 * How long an upstream asks us to wait, in milliseconds, 60,000 at most; undefined when it does not say, or not in a way
 * that can be read. `retry-after-ms` is the finer form that some send besides; a date is compared with `nowMs`.
 */
export function retryAfterMs(headers: Readonly<Record<string, string>>, nowMs: number): number | undefined {
  const fine = headers['retry-after-ms']
  const plain = headers['retry-after']
  const ms = numberOf(fine) ?? inMilliseconds(numberOf(plain)) ?? untilDate(plain, nowMs)
  return ms === undefined ? undefined : Math.min(Math.max(ms, 0), longestMs)
}

const numberOf = (text: string | undefined): number | undefined =>
  text !== undefined && /^\s*-?\d+(\.\d+)?\s*$/.test(text) ? Number(text) : undefined

const inMilliseconds = (seconds: number | undefined): number | undefined =>
  seconds === undefined ? undefined : seconds * 1000

/** Dates have letters; without that test the parser would take a bare year or worse. */
function untilDate(text: string | undefined, nowMs: number): number | undefined {
  const at = text !== undefined && /[a-z]/i.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(at) ? undefined : at - nowMs
}
