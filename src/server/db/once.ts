import { CompiledQuery, type Transaction } from 'kysely'
import type { PoolClient } from 'pg'
import { DecryptionError, type ValueCipher } from '../platform/encryption.ts'
import { AppError } from '../platform/errors.ts'
import type { Database } from './database.ts'

/** Runs one statement in the open transaction of the caller. */
export type RunSql = (text: string, values: readonly unknown[]) => Promise<{ readonly rows: readonly unknown[] }>

/** Returns RunSql for an open Kysely transaction. */
export const sqlOf =
  (trx: Transaction<Database>): RunSql =>
  async (text, values) =>
    trx.executeQuery(CompiledQuery.raw(text, [...values]))

/** Returns RunSql for the open transaction of a client. */
export const sqlOfClient =
  (client: Pick<PoolClient, 'query'>): RunSql =>
  (text, values) =>
    client.query(text, [...values])

/** Identity of a request: principal, route, idempotency key and body hash. */
export interface OnceKey {
  readonly principal: string
  readonly route: string
  readonly key: string
  readonly bodyHash: Buffer
  /** Encrypts the stored answer; for answers with a secret. Security: section 4. */
  readonly cipher?: ValueCipher
}

/** Bounded and with skip locked, so that no request waits for it. */
const forgetOld = `
  delete from idempotency_keys where ctid = any (array(
    select ctid from idempotency_keys where created_at < clock_timestamp() - interval '24 hours'
    limit 100 for update skip locked))`
const claim = `
  insert into idempotency_keys (principal, route, key, body_hash) values ($1, $2, $3, $4)
  on conflict (principal, route, key) do nothing
  returning key`
const recall = 'select body_hash, response from idempotency_keys where principal = $1 and route = $2 and key = $3'
const save = 'update idempotency_keys set response = $4 where principal = $1 and route = $2 and key = $3'

/**
 * Runs `work` once per key in the caller's transaction; a retry within 24 h gets the first answer. A concurrent call
 * waits on the unique key until the first has committed. Rejects with `idempotency_mismatch` for another body with the
 * same key.
 */
export async function once<T>(sql: RunSql, scope: OnceKey | undefined, work: () => Promise<T>): Promise<T> {
  if (!scope) return work()
  const id = [scope.principal, scope.route, scope.key]
  await sql(forgetOld, [])
  const { rows: claimed } = await sql(claim, [...id, scope.bodyHash])
  if (claimed.length > 0) {
    const answer = await work()
    await sql(save, [...id, JSON.stringify(storedAnswer({ answer }, scope))])
    return answer
  }
  const { rows } = await sql(recall, id)
  const [first] = rows as { body_hash: Buffer; response: StoredAnswer<T> }[]
  if (!first) throw new AppError('conflict', 'first request with this Idempotency-Key is still running; retry later')
  if (!first.body_hash.equals(scope.bodyHash)) {
    throw new AppError('idempotency_mismatch', 'Idempotency-Key was already used with another body; use a new key')
  }
  return decryptedAnswer(first.response, scope).answer
}

/** Returns the stored answer of a request without executing it; undefined if there is none. */
export async function recalled<T>(
  sql: RunSql,
  { principal, route, key }: Omit<OnceKey, 'bodyHash' | 'cipher'>,
): Promise<T | undefined> {
  const { rows } = await sql(recall, [principal, route, key])
  const [first] = rows as { response: Answered<T> | null }[]
  return first?.response?.answer
}

interface Answered<T> {
  readonly answer: T
}

/** Answer in the form of the table column. */
type StoredAnswer<T> = Answered<T> | { readonly sealed: string }

function storedAnswer<T>(answered: Answered<T>, scope: OnceKey): StoredAnswer<T> {
  const { sealed } = scope.cipher?.encrypt(JSON.stringify(answered), boundTo(scope)) ?? {}
  return sealed ? { sealed: sealed.toString('base64') } : answered
}

function decryptedAnswer<T>(response: StoredAnswer<T>, scope: OnceKey): Answered<T> {
  if (!('sealed' in response)) return response
  if (!scope.cipher) throw new Error(`the answer of ${scope.route} cannot be decrypted`)
  try {
    const plain = scope.cipher.decrypt(Buffer.from(response.sealed, 'base64'), boundTo(scope))
    return JSON.parse(plain.toString()) as Answered<T>
  } catch (error) {
    if (!(error instanceof DecryptionError) || error.reason !== 'unknown_key') throw error
    const message =
      'cannot decrypt the stored answer to this Idempotency-Key: its encryption key was removed; use a new Idempotency-Key'
    throw new AppError('conflict', message, { cause: error })
  }
}

const boundTo = ({ principal, route, key }: OnceKey): string[] => [principal, route, key]
