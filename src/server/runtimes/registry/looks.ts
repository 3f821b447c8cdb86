import type { Log } from '../../platform/log.ts'
import { every } from '../../platform/timers.ts'
import type { KnownRuntime, KnownRuntimes } from './known-runtimes.ts'
import type { Probes } from './probes.ts'
import { saidOf } from './records.ts'
import type { HealthRow, RuntimeStore } from './store.ts'

interface Deps {
  readonly known: Pick<KnownRuntimes, 'all'>
  readonly probes: Pick<Probes, 'look'>
  readonly store: Pick<RuntimeStore, 'claimLooks' | 'noteHealth'>
  readonly log: Pick<Log, 'debug' | 'info' | 'warn'>
  /** How often each runtime is looked at; 60,000 by default. */
  readonly everyMs?: number
}

/** How often is looked which runtimes are due. */
const periodMs = 10_000

/**
 * Looks at the runtimes that can be used, each once a minute and by one replica, so that their records say how they are
 * before a run finds out. Programs are not started for it.
 */
export function createLooks({ known, probes, store, log, everyMs = 60_000 }: Deps) {
  const stopping = new AbortController()
  let stopTimer: (() => Promise<void>) | undefined

  async function lookAt(runtime: KnownRuntime, before: HealthRow): Promise<void> {
    const { id, apiBase: api_base, version } = runtime
    const error = await probes.look(runtime, stopping.signal)
    await store.noteHealth({ id, api_base, version, error })
    const was = saidOf(runtime, before)?.error ?? null
    if (error !== null && was === null) log.warn({ runtime: id, error }, 'a runtime does not answer as it should')
    if (error === null && was !== null) log.info({ runtime: id }, 'a runtime answers again')
  }

  /** Looks at all that are due. */
  async function look(): Promise<void> {
    const callable = (await known.all()).filter(({ endpoint }) => endpoint && !endpoint.command)
    const claimed = await store.claimLooks(
      callable.map(({ id }) => id),
      everyMs,
    )
    const looks = claimed.map(async before => {
      const runtime = callable.find(({ id }) => id === before.id)
      if (runtime) await lookAt(runtime, before)
    })
    // One that goes wrong holds no other up.
    const failure = (await Promise.allSettled(looks)).find(({ status }) => status === 'rejected')
    if (failure?.status === 'rejected' && !stopping.signal.aborted) throw failure.reason
  }

  return {
    look,

    start(): void {
      stopTimer = every(periodMs, () =>
        look().catch((cause: unknown) =>
          log.debug({ err: cause }, 'could not look at the runtimes; the next look will'),
        ),
      )
    },

    /** Leaves the looks at work. */
    async stop(): Promise<void> {
      stopping.abort()
      await stopTimer?.()
    },
  }
}
