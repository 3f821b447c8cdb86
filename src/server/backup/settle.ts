import { newId } from '../platform/ids.ts'
import { nextRun } from '../schedules/next-run.ts'
import type { Manifest } from './format.ts'
import type { OpenWork, SettleStore } from './settle-store.ts'

/** What the next start of a service finds in a restored database. */
export interface Settled extends OpenWork {
  /** Schedules whose ticks between the backup and the restore are skipped. */
  readonly skipped_schedules: number
}

/**
 * Ends what belongs to the service that was backed up: its leases expire, and ticks of schedules that were due until now
 * do not run, since that service has probably run them.
 */
export async function settle(store: SettleStore, manifest: Manifest): Promise<Settled> {
  await store.voidLeases()
  const { now, schedules } = await store.dueSchedules()
  const reason = `skipped: restored from a backup of ${manifest.created_at}; this tick may have run before the restore`
  for (const schedule of schedules) {
    await store.skipTicks(schedule, { runId: newId('srun'), next: nextRun(schedule, now), reason })
  }
  return { ...(await store.openWork()), skipped_schedules: schedules.length }
}
