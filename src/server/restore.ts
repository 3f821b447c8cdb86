import type { Client } from 'pg'
import { createAudit } from './audit/audit.ts'
import { auditStore } from './audit/store.ts'
import type { Manifest } from './backup/format.ts'
import { loadDatabase } from './backup/load.ts'
import { readBackup } from './backup/read-file.ts'
import { type Settled, settle } from './backup/settle.ts'
import { settleStore } from './backup/settle-store.ts'
import { removeMarkers } from './backup/workspace-markers.ts'
import { type BackupReport, checkBackup } from './backups.ts'
import type { Config } from './config/config.ts'
import { connectAlone, endOnStop, kyselyOn } from './db/connect.ts'
import { startEmbeddedPostgres } from './db/embedded-postgres.ts'
import { applyPending, rejectUnknown } from './db/migrate.ts'
import { sqlOfClient } from './db/once.ts'
import { serviceActor } from './http/caller.ts'
import { checkIntegrity, decryptionClaim, type IntegrityResult } from './integrity/check.ts'
import { integrityStore } from './integrity/store.ts'
import { openDatabase } from './open-database.ts'
import { createKeyring, type Keyring } from './platform/encryption.ts'
import { addEncryptionKeys, loadEncryptionKeys } from './platform/encryption-key.ts'
import { AppError } from './platform/errors.ts'
import type { Log } from './platform/log.ts'

interface Inputs {
  readonly config: Config
  readonly log: Log
}

export interface RestoreOptions {
  readonly path: string
  readonly passphrase: string | undefined
  /** True: deletes the content of a database that is not empty. */
  readonly replaces: boolean
  /** Interrupts the restore. */
  readonly stop?: AbortSignal | undefined
}

export interface RestoreReport extends BackupReport, Settled {
  readonly database: 'embedded' | 'external'
  /** Newer migrations that were applied to the restored database. */
  readonly migrations: readonly string[]
  /** Ids of encryption keys that stored values need and this configuration does not have. */
  readonly missing_key_ids: readonly string[]
  /** True when the encryption keys of the backup were written into the data folder. */
  readonly has_written_keys: boolean
  /** Results of the rules; without that of encrypted values when keys are missing. */
  readonly integrity: readonly IntegrityResult[]
}

/**
 * Restores a backup into the database of the configuration, in one transaction, after all digests of the file were
 * checked. Rejects with `conflict` when the database is not empty or a service uses it.
 */
export async function restoreBackup({ config, log }: Inputs, options: RestoreOptions): Promise<RestoreReport> {
  const { path, passphrase, stop } = options
  const checked = await checkBackup({ path, passphrase, stop }).catch(error => {
    throw stop?.aborted ? interrupted(error) : error
  })
  rejectNewer(checked.manifest)
  const database = await startTarget({ config, log })
  try {
    const client = await connectAlone(database.url, 'switchyard restore')
    try {
      const loaded = await load(client, config, options)
      const keyring = keyringOf(config)
      const missing = missingKeys(checked.manifest, keyring)
      const integrity = await checkRestored(client, keyring, stop)
      return {
        ...checked,
        ...loaded,
        database: config.databaseUrl === undefined ? 'embedded' : 'external',
        missing_key_ids: missing,
        integrity: missing.length === 0 ? integrity : integrity.filter(({ claim }) => claim !== decryptionClaim),
      }
    } finally {
      await client.end()
    }
  } finally {
    await database.close()
  }
}

type Loaded = Settled & Pick<RestoreReport, 'migrations' | 'has_written_keys'>

/** Replaces the content of the database, and writes the keys of the backup, together or not at all. */
async function load(client: Client, config: Config, { path, passphrase, replaces, stop }: RestoreOptions) {
  const source = { path, passphrase }
  let loaded: Loaded | undefined
  const audit = createAudit(auditStore(kyselyOn(client)))
  try {
    await loadDatabase({
      client,
      parts: readBackup({ ...source, stop }),
      replaces,
      stop,
      async settle(manifest) {
        const migrations = await applyPending(client)
        const settled = await settle(settleStore(client), manifest)
        const after = { created_at: manifest.created_at, version: manifest.version }
        await audit.record(sqlOfClient(client), {
          actor: serviceActor,
          action: 'database.restore',
          objectId: 'database',
          after,
        })
        await removeMarkers(config.dataDir)
        loaded = { ...settled, migrations, has_written_keys: await writeKeys(config, source) }
      },
    })
  } catch (error) {
    throw stop?.aborted ? interrupted(error) : error
  }
  if (!loaded) throw new Error('restore has not settled its data (bug)')
  return loaded
}

const interrupted = (cause: unknown): AppError =>
  new AppError('conflict', 'interrupted; the database is unchanged', { cause })

async function checkRestored(client: Client, keyring: Keyring | undefined, stop: AbortSignal | undefined) {
  const detach = endOnStop(client, stop)
  try {
    await settleStore(client).analyze()
    return await checkIntegrity({ store: integrityStore(client), keyring })
  } catch (error) {
    if (!stop?.aborted) throw error
    throw new AppError('conflict', 'interrupted after the restore; check the data with: switchyard doctor --deep')
  } finally {
    detach()
  }
}

function rejectNewer({ migrations, version }: Pick<Manifest, 'migrations' | 'version'>): void {
  try {
    rejectUnknown(migrations)
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    throw new AppError('unavailable', `${error.message}; restore the backup with the version that wrote it, ${version}`)
  }
}

/** Starts the embedded database, which fails while a service uses it, or returns the configured one. */
async function startTarget({ config, log }: Inputs): Promise<{ url: string; close: () => Promise<void> }> {
  const { databaseUrl, dataDir } = config
  if (databaseUrl !== undefined) return { url: databaseUrl, close: () => Promise.resolve() }
  const started = await startEmbeddedPostgres({ dataDir, log })
  return { url: started.url, close: () => started.stop() }
}

/** Writes the keys of the backup into the data folder, unless the configuration states keys. */
async function writeKeys(
  { encryptionKeys, dataDir }: Config,
  source: { path: string; passphrase: string | undefined },
) {
  if (encryptionKeys.length > 0) return false
  for await (const part of readBackup(source)) {
    if (part.type === 'manifest' && !part.manifest.has_keys) return false
    if (part.type !== 'keys') continue
    addEncryptionKeys(dataDir, part.keys)
    return true
  }
  return false
}

function keyringOf({ encryptionKeys: given, dataDir }: Config): Keyring | undefined {
  const keys = loadEncryptionKeys({ given, dataDir })
  return keys && createKeyring(keys)
}

const missingKeys = ({ encryption_key_ids }: Pick<Manifest, 'encryption_key_ids'>, keyring: Keyring | undefined) =>
  encryption_key_ids.filter(id => !keyring?.ids.includes(id))

/** Checks all stored data of a database. The service may run meanwhile. */
export async function checkDatabase({ config, log }: Inputs): Promise<IntegrityResult[]> {
  const keyring = keyringOf(config)
  const database = await openDatabase({ config, log })
  try {
    const client = await connectAlone(database.url, 'switchyard doctor')
    try {
      return await checkIntegrity({ store: integrityStore(client), keyring })
    } finally {
      await client.end()
    }
  } finally {
    await database.close()
  }
}
