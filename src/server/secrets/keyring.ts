import type { Pool } from 'pg'
import { encryptionKeyFile, loadEncryptionKeys, makeEncryptionKey } from '../platform/encryption-key.ts'
import { AppError } from '../platform/errors.ts'
import { createKeyring, type Keyring } from '../platform/seal.ts'
import { type KeyUse, secretStore } from './store.ts'

interface Options {
  readonly pool: Pool
  /** The configured keys; empty: those of the data folder, where one is made when there is none. */
  readonly given: readonly string[]
  readonly dataDir: string
}

/**
 * The encryption keys of this start. `unavailable`, and nothing is changed, when the database holds values of a key that
 * is not among them: a key that was made now would only hide that the right one is missing. Security: S16.
 */
export async function openKeyring({ pool, given, dataDir }: Options): Promise<Keyring> {
  const use = await secretStore(pool).keyUse()
  const load = (): readonly Buffer[] | undefined => loadEncryptionKeys({ given, dataDir })
  const found = load()
  if (!found && use.length > 0) {
    throw new AppError(
      'unavailable',
      `${needOf(use)}, and no encryption key is given here. ${adviceFor({ given, dataDir })}`,
    )
  }
  if (!found) makeEncryptionKey(dataDir)
  const keyring = createKeyring(found ?? load() ?? [])
  const lacking = use.filter(({ key_id }) => !keyring.ids.includes(key_id))
  if (lacking.length > 0) {
    const ids = keyring.ids.join(', ')
    throw new AppError(
      'unavailable',
      `${needOf(lacking)}, which is not among the given ones (${ids}). ${adviceFor({ given, dataDir })}`,
    )
  }
  return keyring
}

function needOf(use: readonly KeyUse[]): string {
  const rows = new Map<string, number>()
  for (const { key_id, rows: count } of use) rows.set(key_id, (rows.get(key_id) ?? 0) + count)
  const keys = [...rows].map(([id, count]) => `${id} (${count} ${count === 1 ? 'value' : 'values'})`)
  return `the database holds values that are sealed with encryption key ${keys.join(' and ')}`
}

/** Where the operator adds the key. */
function adviceFor({ given, dataDir }: Pick<Options, 'given' | 'dataDir'>): string {
  const file = encryptionKeyFile(dataDir)
  const where =
    given.length > 0
      ? `Add it to SWITCHYARD_ENCRYPTION_KEY, behind a comma; it may be in ${file} or in that of another server`
      : `Set SWITCHYARD_ENCRYPTION_KEY to it, or restore ${file}; it may be in that file of another server`
  return `${where}. Nothing was changed`
}
