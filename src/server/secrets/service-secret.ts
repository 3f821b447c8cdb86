import { randomBytes } from 'node:crypto'
import type { Pool } from 'pg'
import { createRowSealer } from '../db/sealed-rows.ts'
import { AppError } from '../platform/errors.ts'
import { type Keyring, SealError } from '../platform/seal.ts'
import { type SecretRow, secretStore } from './store.ts'

const secretBytes = 32

/**
 * 32 random bytes that the service makes up once under `name` and keeps, sealed; all servers of a database get the same.
 * They outlive every change of encryption and master key. `unavailable` when they do not open.
 */
export async function loadServiceSecret(pool: Pool, keyring: Keyring, name: string): Promise<Buffer> {
  const store = secretStore(pool)
  const sealer = createRowSealer(keyring, 'service_secrets')
  const insert = async (): Promise<SecretRow | undefined> => {
    const row = { name, version: 1 }
    await store.insert({ ...row, ...sealer.seal(randomBytes(secretBytes), row) })
    // Another server may have been first: what is stored counts.
    return store.find(name)
  }
  const row = (await store.find(name)) ?? (await insert())
  if (!row) throw new Error(`service secret ${name} vanished`)
  try {
    return sealer.open(row)
  } catch (error) {
    if (!(error instanceof SealError)) throw error
    throw new AppError('unavailable', refusalOf(row, error), { cause: error })
  }
}

const refusalOf = ({ name, key_id }: SecretRow, { reason }: SealError): string =>
  reason === 'unknown_key'
    ? `the secret ${name} of the database is sealed with encryption key ${key_id}, which is not given here: ` +
      'give all servers of one database the same SWITCHYARD_ENCRYPTION_KEY'
    : `the secret ${name} of the database was damaged or changed: restore table service_secrets from a backup`
