import { every } from '../platform/timers.ts'

/** A claim expires 15 seconds after it was renewed. */
const renewMs = 3_000

interface Keeping {
  /** Renews the claim; false when another process has it. */
  readonly renew: () => Promise<boolean>
  /** Aborts when this process stops. */
  readonly signal: AbortSignal
}

/** Works while a claim is renewed. The signal of the work aborts when the claim is lost or the process stops. */
export async function keepClaim(
  { renew, signal }: Keeping,
  work: (signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const lost = new AbortController()
  const stopRenewing = every(renewMs, async () => {
    // A failure to renew shows when the work stores its result.
    if (!(await renew().catch(() => true))) lost.abort()
  })
  try {
    await work(AbortSignal.any([signal, lost.signal]))
  } finally {
    await stopRenewing()
  }
}
