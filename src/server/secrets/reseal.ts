import { batchRowsOf, createRowSealer, type SealedTable, sealedTables } from '../db/sealed-rows.ts'
import type { Log } from '../platform/log.ts'
import { type Keyring, SealError } from '../platform/seal.ts'
import { every, pause } from '../platform/timers.ts'
import type { SealedRow, SecretStore } from './store.ts'

interface Deps {
  readonly store: SecretStore
  readonly keyring: Keyring
  readonly log: Log
  /** At most so many rows a transaction; by default what the table allows. */
  readonly batchSize?: number
  /** Between two batches, for the work of others; 20 by default. */
  readonly pauseMs?: number
}

interface Resealed {
  readonly resealed: number
  /** Values that do not open, and stay as they are. */
  readonly unreadable: number
}

/** Values that an older key seals are sealed anew with the current one, so that the older key can go. Security: S13. */
export interface Reseal {
  /** Goes through all tables once. Ends early, between two batches, when `signal` aborts; the next run goes on. */
  run(signal: AbortSignal): Promise<Resealed>
  /** Runs now, in the background, and whenever another server has sealed something with an older key since. */
  start(): void
  /** Waits for the batch at work. */
  stop(): Promise<void>
}

const progressRows = 1_000
const periodMs = 300_000

export function createReseal({
  store,
  keyring,
  log,
  batchSize = Number.POSITIVE_INFINITY,
  pauseMs = 20,
}: Deps): Reseal {
  const { currentId } = keyring

  async function resealTable<T extends SealedTable>(table: T, signal: AbortSignal): Promise<Resealed> {
    const sealer = createRowSealer(keyring, table)
    const limit = Math.min(batchSize, batchRowsOf(table))
    let unreadable = 0
    const reseal = (row: SealedRow<T>) => {
      try {
        return sealer.seal(sealer.open(row), row)
      } catch (error) {
        if (!(error instanceof SealError)) throw error
        unreadable++
        const named = sealedTables[table].id.map(column => (row as Readonly<Record<string, unknown>>)[column])
        const { version, key_id: encryption_key } = row
        log.error({ table, row: named, version, encryption_key, reason: error.reason }, 'a sealed value does not open')
        return undefined
      }
    }
    let resealed = 0
    for (let after: readonly string[] | undefined; !signal.aborted; ) {
      const batch = await store.resealBatch(table, { currentId, after, limit, reseal })
      if (Math.floor((resealed + batch.resealed) / progressRows) > Math.floor(resealed / progressRows))
        log.info({ table, resealed: resealed + batch.resealed }, 'sealing values anew')
      resealed += batch.resealed
      if (!batch.last) break
      after = batch.last
      await pause(pauseMs, signal)
    }
    return { resealed, unreadable }
  }

  async function run(signal: AbortSignal): Promise<Resealed> {
    const stale = (await store.keyUse()).filter(({ key_id }) => key_id !== currentId)
    if (stale.length === 0) return { resealed: 0, unreadable: 0 }
    const rows = stale.reduce((sum, use) => sum + use.rows, 0)
    const older = [...new Set(stale.map(({ key_id }) => key_id))]
    log.info(
      { encryption_key: currentId, older, rows },
      'older encryption keys are in use: their values are sealed anew',
    )
    let total: Resealed = { resealed: 0, unreadable: 0 }
    for (const table of Object.keys(sealedTables) as SealedTable[]) {
      const { resealed, unreadable } = await resealTable(table, signal)
      total = { resealed: total.resealed + resealed, unreadable: total.unreadable + unreadable }
    }
    log.info(
      { encryption_key: currentId, ...total },
      signal.aborted ? 'sealing anew was interrupted' : 'sealing anew has ended',
    )
    return total
  }

  const ended = new AbortController()
  let first: Promise<void> | undefined
  let stopTimer: (() => Promise<void>) | undefined
  /** The database may be away for a while: the next time is soon enough. */
  const runQuietly = async (): Promise<void> => {
    await run(ended.signal).catch(error => log.warn({ err: error }, 'sealing anew failed; it is tried again'))
  }
  return {
    run,
    start() {
      first = runQuietly()
      stopTimer = every(periodMs, runQuietly)
    },
    async stop() {
      ended.abort()
      await first
      await stopTimer?.()
    },
  }
}
