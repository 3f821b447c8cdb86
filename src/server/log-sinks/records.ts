import type { RowCipher } from '../db/encrypted-rows.ts'
import { DecryptionError } from '../platform/encryption.ts'
import type { LogRecord } from './sink.ts'
import type { BodiesRow, CallRow } from './store.ts'

/** Returns the record of a call. A call that ends after it was booked as lost gets a second record. */
export function recordOfCall({
  is_final,
  created_at,
  cached,
  first_content_ms,
  total_ms,
  place: _place,
  ...row
}: CallRow): LogRecord {
  return {
    ...row,
    id: is_final ? `${row.id}:final` : row.id,
    type: 'call',
    time: created_at.toISOString(),
    ...(is_final && { replaces: row.id }),
    cached: cached === true,
    first_content_ms: first_content_ms === null ? null : rounded(first_content_ms),
    total_ms: rounded(total_ms),
  }
}

/** Returns the record of recorded bodies, which were redacted before they were encrypted. */
export function recordOfBodies(row: BodiesRow, cipher: Pick<RowCipher<'call_bodies'>, 'decrypt'>): LogRecord {
  const { request_id, principal, api_key_id: key_id, owner_id, model } = row
  const time = row.created_at.toISOString()
  const base = {
    id: `${request_id}:bodies`,
    type: 'bodies',
    time,
    request_id,
    principal,
    key_id,
    owner_id,
    model,
  } as const
  try {
    return { ...base, ...(JSON.parse(cipher.decrypt(row).toString()) as object) }
  } catch (error) {
    if (!(error instanceof DecryptionError)) throw error
    // Bodies of a lost encryption key must not stop all later ones.
    return { ...base, error: 'cannot decrypt the recorded bodies: encryption key does not match' }
  }
}

const rounded = (ms: number): number => Math.round(ms * 1_000) / 1_000
