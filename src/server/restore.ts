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
import { connectAlone, kyselyOn } from './db/connect.ts'
import { startEmbeddedPostgres } from './db/embedded-postgres.ts'
import { applyPending, rejectUnknown } from './db/migrate.ts'
import { sqlOfClient } from './db/once.ts'
import { serviceActor } from './http/caller.ts'
import { checkIntegrity, type IntegrityResult } from './integrity/check.ts'
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
}

export interface RestoreReport extends BackupReport, Settled {
  readonly database: 'embedded' | 'external'
  /** Newer migrations that were applied to the restored database. */
  readonly migrations: readonly string[]
  /** Ids of encryption keys that stored values need and this configuration does not have. */
  readonly missing_key_ids: readonly string[]
  /** True when the encryption keys of the backup were written into the data folder. */
  readonly has_written_keys: boolean
  readonly integrity: readonly IntegrityResult[]
}

/**
 * Restores a backup into the database of the configuration, in one transaction, after all digests of the file were
 * checked. Rejects with `conflict` when the database is not empty or a service uses it.
 */
export async function restoreBackup({ config, log }: Inputs, options: RestoreOptions): Promise<RestoreReport> {
  const { path, passphrase, replaces } = options
  const source = { path, passphrase }
  const checked = await checkBackup(source)
  rejectNewer(checked.manifest)
  const database = await startTarget({ config, log })
  try {
    const client = await connectAlone(database.url, 'switchyard restore')
    try {
      let settled: Settled = { runs: 0, waiting_prompts: 0, skipped_schedules: 0 }
      let migrations: string[] = []
      const audit = createAudit(auditStore(kyselyOn(client)))
      await loadDatabase({
        client,
        parts: readBackup(source),
        replaces,
        async settle(manifest) {
          migrations = await applyPending(client)
          settled = await settle(settleStore(client), manifest)
          const after = { created_at: manifest.created_at, version: manifest.version }
          await audit.record(sqlOfClient(client), {
            actor: serviceActor,
            action: 'database.restore',
            objectId: 'database',
            after,
          })
        },
      })
      await settleStore(client).analyze()
      await removeMarkers(config.dataDir)
      const hasWrittenKeys = await writeKeys(config, source)
      const keyring = keyringOf(config)
      return {
        ...checked,
        ...settled,
        database: config.databaseUrl === undefined ? 'embedded' : 'external',
        migrations,
        missing_key_ids: missingKeys(checked.manifest, keyring),
        has_written_keys: hasWrittenKeys,
        integrity: await checkIntegrity({ store: integrityStore(client), keyring }),
      }
    } finally {
      await client.end()
    }
  } finally {
    await database.close()
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
