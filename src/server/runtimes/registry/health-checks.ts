import type { Log } from '../../platform/log.ts'
import { every } from '../../platform/timers.ts'
import type { ExternalRuntime, ExternalRuntimes } from './external-runtimes.ts'
import type { Probes } from './probes.ts'
import { currentHealth } from './records.ts'
import type { HealthRow, RuntimeStore } from './store.ts'

interface Deps {
  readonly externals: Pick<ExternalRuntimes, 'all'>
  readonly probes: Pick<Probes, 'check'>
  readonly store: Pick<RuntimeStore, 'claimHealthChecks' | 'updateHealth'>
  readonly log: Pick<Log, 'debug' | 'info' | 'warn'>
  /** Interval of the checks of one runtime; 60,000 by default. */
  readonly everyMs?: number
}

/** Interval of the search for due runtimes. */
const periodMs = 10_000

/**
 * Checks each usable runtime once a minute, on one replica, so that its record shows a problem before a run fails. Does
 * not start programs.
 */
export function createHealthChecks({ externals, probes, store, log, everyMs = 60_000 }: Deps) {
  const stopping = new AbortController()
  let stopTimer: (() => Promise<void>) | undefined

  async function checkOne(runtime: ExternalRuntime, before: HealthRow): Promise<void> {
    const { id, apiBase: api_base, version } = runtime
    const error = await probes.check(runtime, stopping.signal)
    await store.updateHealth({ id, api_base, version, error })
    const was = currentHealth(runtime, before)?.error ?? null
    if (error !== null && was === null) log.warn({ runtime: id, error }, 'health check of a runtime failed')
    if (error === null && was !== null) log.info({ runtime: id }, 'health check of a runtime succeeds again')
  }

  /** Checks all runtimes that are due. */
  async function checkDue(): Promise<void> {
    const callable = (await externals.all()).filter(({ endpoint }) => endpoint && !endpoint.command)
    const claimed = await store.claimHealthChecks(
      callable.map(({ id }) => id),
      everyMs,
    )
    const checks = claimed.map(async before => {
      const runtime = callable.find(({ id }) => id === before.id)
      if (runtime) await checkOne(runtime, before)
    })
    // A failed check must not stop the others.
    const failure = (await Promise.allSettled(checks)).find(({ status }) => status === 'rejected')
    if (failure?.status === 'rejected' && !stopping.signal.aborted) throw failure.reason
  }

  return {
    checkDue,

    start(): void {
      stopTimer = every(periodMs, () =>
        checkDue().catch((cause: unknown) =>
          log.debug({ err: cause }, 'cannot check the runtimes; retrying in the next check'),
        ),
      )
    },

    /** Stops the timer and aborts running checks. */
    async stop(): Promise<void> {
      stopping.abort()
      await stopTimer?.()
    },
  }
}
