import { randomBytes } from 'node:crypto'
import type { Pool } from 'pg'
import { createRowCipher } from '../db/encrypted-rows.ts'
import { DecryptionError, type Keyring } from '../platform/encryption.ts'
import { AppError } from '../platform/errors.ts'
import { type SecretRow, secretStore } from './store.ts'

const secretBytes = 32

/**
 * Returns the secret `name`: 32 random bytes, generated once and stored encrypted, the same for all servers of a
 * database. It survives changes of the encryption and master keys. Throws `unavailable` when it cannot be decrypted.
 */
export async function loadServiceSecret(pool: Pool, keyring: Keyring, name: string): Promise<Buffer> {
  const store = secretStore(pool)
  const cipher = createRowCipher(keyring, 'service_secrets')
  const insert = async (): Promise<SecretRow | undefined> => {
    const row = { name, version: 1 }
    await store.insert({ ...row, ...cipher.encrypt(randomBytes(secretBytes), row) })
    // Another server may have inserted it first: use the stored one.
    return store.find(name)
  }
  const row = (await store.find(name)) ?? (await insert())
  if (!row) throw new Error(`service secret ${name} was deleted right after its insert`)
  try {
    return cipher.decrypt(row)
  } catch (error) {
    if (!(error instanceof DecryptionError)) throw error
    throw new AppError('unavailable', messageOf(row, error), { cause: error })
  }
}

const messageOf = ({ name, key_id }: SecretRow, { reason }: DecryptionError): string =>
  reason === 'unknown_key'
    ? `cannot decrypt the stored secret ${name}: encryption key ${key_id} is not given; ` +
      'set the same SWITCHYARD_ENCRYPTION_KEY on all servers of one database'
    : `cannot decrypt the stored secret ${name}: it was damaged or modified; ` +
      'restore table service_secrets from a backup'
