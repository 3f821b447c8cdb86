/** A process that ran this long started successfully, so its replacement starts without delay. */
const stableMs = 10_000
const firstDelayMs = 500
const maxDelayMs = 30_000

/**
 * Returns the delay in milliseconds before an exited process is replaced: 0 after 10 s of life; else 500, doubled for
 * each early exit directly before it (`earlyExits`), at most 30,000.
 */
export function restartDelayMs({ livedMs, earlyExits }: { livedMs: number; earlyExits: number }): number {
  return isEarly(livedMs) ? Math.min(maxDelayMs, firstDelayMs * 2 ** earlyExits) : 0
}

/** True when a process exited so soon after its start that its replacement may do the same. */
export const isEarly = (livedMs: number): boolean => livedMs < stableMs
