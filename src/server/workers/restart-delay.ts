/** A process that lived for so long has worked: its end says nothing of the next one. */
const soundMs = 10_000
const firstDelayMs = 500
const maxDelayMs = 30_000

/**
 * Milliseconds until a process that ended is replaced: none after 10 s of life; else 500, and twice as many for each that ended
 * early before it in a row (`earlyEnds`), at most 30,000.
 */
export function restartDelayMs({ livedMs, earlyEnds }: { livedMs: number; earlyEnds: number }): number {
  return isEarly(livedMs) ? Math.min(maxDelayMs, firstDelayMs * 2 ** earlyEnds) : 0
}

/** True when a process ended so soon after its start that the next one may do the same. */
export const isEarly = (livedMs: number): boolean => livedMs < soundMs
