import { batchRowsOf, createRowCipher, type EncryptedTable, encryptedTables } from '../db/encrypted-rows.ts'
import { DecryptionError, type Keyring } from '../platform/encryption.ts'
import type { Log } from '../platform/log.ts'
import { every, pause } from '../platform/timers.ts'
import type { EncryptedRow, SecretStore } from './store.ts'

interface Deps {
  readonly store: SecretStore
  readonly keyring: Keyring
  readonly log: Log
  /** Maximum rows per transaction; the default depends on the table. */
  readonly batchSize?: number
  /** Pause between two batches, so that other work is not delayed; 20 by default. */
  readonly pauseMs?: number
}

interface ReencryptionResult {
  readonly reencrypted: number
  /** Values that cannot be decrypted; they stay unchanged. */
  readonly unreadable: number
}

/** Re-encrypts the values of older keys with the current key, so that the older keys can be removed. Security: S13. */
export interface Reencryption {
  /** Re-encrypts all tables once. Stops between two batches when `signal` aborts; the next run continues. */
  run(signal: AbortSignal): Promise<ReencryptionResult>
  /** Runs in the background now and every 5 min, because another server may still encrypt with an older key. */
  start(): void
  /** Waits for the running batch. */
  stop(): Promise<void>
}

const progressRows = 1_000
const periodMs = 300_000

export function createReencryption({
  store,
  keyring,
  log,
  batchSize = Number.POSITIVE_INFINITY,
  pauseMs = 20,
}: Deps): Reencryption {
  const { currentId } = keyring

  async function reencryptTable<T extends EncryptedTable>(table: T, signal: AbortSignal): Promise<ReencryptionResult> {
    const cipher = createRowCipher(keyring, table)
    const limit = Math.min(batchSize, batchRowsOf(table))
    let unreadable = 0
    const reencrypt = (row: EncryptedRow<T>) => {
      try {
        return cipher.encrypt(cipher.decrypt(row), row)
      } catch (error) {
        if (!(error instanceof DecryptionError)) throw error
        unreadable++
        const rowId = encryptedTables[table].id.map(column => (row as Readonly<Record<string, unknown>>)[column])
        const { version, key_id: encryption_key } = row
        log.error(
          { table, row: rowId, version, encryption_key, reason: error.reason },
          'cannot decrypt a stored value: encryption key does not match',
        )
        return undefined
      }
    }
    let reencrypted = 0
    for (let after: readonly string[] | undefined; !signal.aborted; ) {
      const batch = await store.reencryptBatch(table, { currentId, after, limit, reencrypt })
      if (Math.floor((reencrypted + batch.reencrypted) / progressRows) > Math.floor(reencrypted / progressRows))
        log.info({ table, reencrypted: reencrypted + batch.reencrypted }, 're-encrypting stored values')
      reencrypted += batch.reencrypted
      if (!batch.last) break
      after = batch.last
      await pause(pauseMs, signal)
    }
    return { reencrypted, unreadable }
  }

  async function run(signal: AbortSignal): Promise<ReencryptionResult> {
    const stale = (await store.keyUse()).filter(({ key_id }) => key_id !== currentId)
    if (stale.length === 0) return { reencrypted: 0, unreadable: 0 }
    const rows = stale.reduce((sum, use) => sum + use.rows, 0)
    const older = [...new Set(stale.map(({ key_id }) => key_id))]
    log.info({ encryption_key: currentId, older, rows }, 're-encrypting the values of older encryption keys')
    let total: ReencryptionResult = { reencrypted: 0, unreadable: 0 }
    for (const table of Object.keys(encryptedTables) as EncryptedTable[]) {
      const { reencrypted, unreadable } = await reencryptTable(table, signal)
      total = { reencrypted: total.reencrypted + reencrypted, unreadable: total.unreadable + unreadable }
    }
    log.info(
      { encryption_key: currentId, ...total },
      signal.aborted ? 're-encryption was interrupted' : 're-encryption finished',
    )
    return total
  }

  const ended = new AbortController()
  let first: Promise<void> | undefined
  let stopTimer: (() => Promise<void>) | undefined
  /** Does not reject: when the database is unreachable, the next run retries. */
  const runOrLog = async (): Promise<void> => {
    await run(ended.signal).catch(error => log.warn({ err: error }, 're-encryption failed; retrying'))
  }
  return {
    run,
    start() {
      first = runOrLog()
      stopTimer = every(periodMs, runOrLog)
    },
    async stop() {
      ended.abort()
      await first
      await stopTimer?.()
    },
  }
}
