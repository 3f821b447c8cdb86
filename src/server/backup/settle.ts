import { newId } from '../platform/ids.ts'
import { nextRun } from '../schedules/next-run.ts'
import type { Manifest } from './format.ts'
import type { DueTick, OpenWork, SettleStore } from './settle-store.ts'

/** What the next start of a service finds in a restored database. */
export interface Settled extends OpenWork {
  /** Schedules whose ticks between the backup and the restore are skipped. */
  readonly skipped_schedules: number
  /** Deployments, the same. */
  readonly skipped_deployments: number
}

/**
 * Ends what belongs to the service that was backed up: its leases expire, and what schedules and deployments were due until
 * now does not run, since that service has probably run it.
 */
export async function settle(store: SettleStore, manifest: Manifest): Promise<Settled> {
  await store.voidLeases()
  const { now, ticks } = await store.due()
  const reason = `skipped: restored from a backup of ${manifest.created_at}; this tick may have run before the restore`
  for (const tick of ticks) {
    const runId = newId(tick.kind === 'schedule' ? 'srun' : 'drun')
    await store.skip(tick, { runId, next: nextRun(tick, now), reason })
  }
  const countOf = (kind: DueTick['kind']) => ticks.filter(tick => tick.kind === kind).length
  const skipped = { skipped_schedules: countOf('schedule'), skipped_deployments: countOf('deployment') }
  return { ...(await store.openWork()), ...skipped }
}
