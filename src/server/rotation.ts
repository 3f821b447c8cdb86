import type { Pool } from 'pg'
import { createAudit } from './audit/audit.ts'
import { auditStore } from './audit/store.ts'
import type { Config } from './config/config.ts'
import { createKysely, createPool } from './db/connect.ts'
import { pendingMigrations } from './db/migrate.ts'
import { serviceActor } from './http/caller.ts'
import { openDatabase } from './open-database.ts'
import { createKeyring, type Keyring } from './platform/encryption.ts'
import { loadEncryptionKeys } from './platform/encryption-key.ts'
import { AppError } from './platform/errors.ts'
import type { Log } from './platform/log.ts'
import { createReencryption } from './secrets/reencryption.ts'
import { type KeyUse, type SecretStore, secretStore } from './secrets/store.ts'

interface Inputs {
  readonly config: Config
  readonly log: Log
}

/** How an encryption key is used here. A report has ids of keys, never a key. */
export interface KeyReport {
  readonly key_id: string
  /**
   * `seals`: it encrypts new values; `opens`: it decrypts older ones; `missing`: not given, its values are unreadable.
   */
  readonly state: 'seals' | 'opens' | 'missing'
  /** Number of values encrypted with it. */
  readonly rows: number
  /** `rows` by table, without the tables that have none. */
  readonly tables: Readonly<Record<string, number>>
}

export interface SecretsReport {
  readonly keys: readonly KeyReport[]
}

/** Reports the encryption keys that are given and those that the database needs. Read only; the service may run. */
export function examineSecrets(inputs: Inputs): Promise<SecretsReport> {
  return withStorage(inputs, ({ store, keyring }) => report(store, keyring))
}

/** Re-encrypts all values of older keys with the current key. The service may run meanwhile. */
export function reencryptSecrets(inputs: Inputs): Promise<SecretsReport & { readonly resealed: number }> {
  return withStorage(inputs, async ({ store, keyring }) => {
    if (!keyring) throw new AppError('unavailable', 'no encryption key is given; set SWITCHYARD_ENCRYPTION_KEY')
    const reencryption = createReencryption({ store, keyring, log: inputs.log, pauseMs: 0 })
    const { reencrypted } = await reencryption.run(new AbortController().signal)
    return { ...(await report(store, keyring)), resealed: reencrypted }
  })
}

/** Deletes the values of a lost key, so that the service can start without it. Throws `conflict` for a given key. */
export function forgetKey(inputs: Inputs, keyId: string): Promise<SecretsReport & { readonly forgotten: number }> {
  return withStorage(inputs, async ({ pool, store, keyring }) => {
    if (keyring?.ids.includes(keyId))
      throw new AppError('conflict', `encryption key ${keyId} is configured, so its values can be decrypted`)
    const audit = createAudit(auditStore(createKysely(pool)))
    let forgotten = 0
    await store.forget(keyId, (sql, deleted) => {
      forgotten = sumOf(deleted)
      const before = tablesOf(deleted)
      return audit.record(sql, { actor: serviceActor, action: 'encryption_key.forget', objectId: keyId, before })
    })
    return { ...(await report(store, keyring)), forgotten }
  })
}

interface Storage {
  readonly pool: Pool
  readonly store: SecretStore
  readonly keyring: Keyring | undefined
}

/** Runs `work` on the database of the service, which may run meanwhile. Throws `unavailable` for an outdated one. */
export async function withStorage<T>({ config, log }: Inputs, work: (storage: Storage) => Promise<T>): Promise<T> {
  const { encryptionKeys: given, dataDir } = config
  const keys = loadEncryptionKeys({ given, dataDir })
  const { url, close } = await openDatabase({ config, log })
  const pool = createPool({ url, max: 2, onLost: () => undefined })
  try {
    if ((await pendingMigrations(pool)).length > 0)
      throw new AppError('unavailable', 'database is not up to date; run "switchyard migrate" first')
    return await work({ pool, store: secretStore(pool), keyring: keys && createKeyring(keys) })
  } finally {
    await pool.end()
    await close()
  }
}

async function report(store: SecretStore, keyring: Keyring | undefined): Promise<SecretsReport> {
  const use = await store.keyUse()
  const given = keyring?.ids ?? []
  const ids = [...new Set([...given, ...use.map(({ key_id }) => key_id)])]
  const keys = ids.map((key_id): KeyReport => {
    const ofKey = use.filter(row => row.key_id === key_id)
    const state = key_id === keyring?.currentId ? 'seals' : given.includes(key_id) ? 'opens' : 'missing'
    return { key_id, state, rows: sumOf(ofKey), tables: tablesOf(ofKey) }
  })
  return { keys }
}

const sumOf = (use: readonly KeyUse[]): number => use.reduce((sum, { rows }) => sum + rows, 0)

const tablesOf = (use: readonly KeyUse[]): Record<string, number> =>
  Object.fromEntries(use.filter(({ rows }) => rows > 0).map(({ table, rows }) => [table, rows]))
