import type { Pool } from 'pg'
import { createKeyring, type Keyring } from '../platform/encryption.ts'
import { encryptionKeyFile, loadEncryptionKeys, makeEncryptionKey } from '../platform/encryption-key.ts'
import { AppError } from '../platform/errors.ts'
import { type KeyUse, secretStore } from './store.ts'

interface Options {
  readonly pool: Pool
  /** The configured keys. When empty, those of the data folder are used; a key is generated there when it has none. */
  readonly given: readonly string[]
  readonly dataDir: string
}

/**
 * Returns the encryption keys of this server. Throws `unavailable`, without a change, when the database stores values
 * of a key that is not given: a newly generated key would hide that the right one is missing. Security: S16.
 */
export async function openKeyring({ pool, given, dataDir }: Options): Promise<Keyring> {
  const use = await secretStore(pool).keyUse()
  const load = (): readonly Buffer[] | undefined => loadEncryptionKeys({ given, dataDir })
  const found = load()
  if (!found && use.length > 0) {
    throw new AppError(
      'unavailable',
      `${needOf(use)}, but no encryption key is given; ${adviceFor({ given, dataDir })}`,
    )
  }
  if (!found) makeEncryptionKey(dataDir)
  const keyring = createKeyring(found ?? load() ?? [])
  const missing = use.filter(({ key_id }) => !keyring.ids.includes(key_id))
  if (missing.length > 0) {
    const ids = keyring.ids.join(', ')
    throw new AppError('unavailable', `${needOf(missing)}, but only ${ids} is given; ${adviceFor({ given, dataDir })}`)
  }
  return keyring
}

function needOf(use: readonly KeyUse[]): string {
  const rows = new Map<string, number>()
  for (const { key_id, rows: count } of use) rows.set(key_id, (rows.get(key_id) ?? 0) + count)
  const keys = [...rows].map(([id, count]) => `${id} (${count} ${count === 1 ? 'value' : 'values'})`)
  return `the database stores values encrypted with encryption key ${keys.join(' and ')}`
}

/** Says where the operator must add the key. */
function adviceFor({ given, dataDir }: Pick<Options, 'given' | 'dataDir'>): string {
  const file = encryptionKeyFile(dataDir)
  const where =
    given.length > 0
      ? `append that key to SWITCHYARD_ENCRYPTION_KEY after a comma (it may be in ${file}, here or on another server)`
      : `set SWITCHYARD_ENCRYPTION_KEY to that key, or restore ${file} (another server may have it)`
  return `${where}; nothing was changed`
}
