import { CompiledQuery, type Transaction } from 'kysely'
import type { PoolClient } from 'pg'
import { AppError } from '../platform/errors.ts'
import { SealError, type Sealer } from '../platform/seal.ts'
import type { Database } from './types.ts'

/** Runs one statement in the transaction that the caller has open. */
export type RunSql = (text: string, values: readonly unknown[]) => Promise<{ readonly rows: readonly unknown[] }>

/** Statements in an open transaction of Kysely. */
export const sqlOf =
  (trx: Transaction<Database>): RunSql =>
  async (text, values) =>
    trx.executeQuery(CompiledQuery.raw(text, [...values]))

/** Statements in the transaction that a client has open. */
export const sqlOfClient =
  (client: Pick<PoolClient, 'query'>): RunSql =>
  (text, values) =>
    client.query(text, [...values])

/** Who asked, for which route, under which key, with which body. */
export interface OnceKey {
  readonly principal: string
  readonly route: string
  readonly key: string
  readonly bodyHash: Buffer
  /** Seals the remembered answer; for answers that hold a secret. Security: section 4. */
  readonly sealer?: Sealer
}

/** A few at a time, and none that another request is at: no request waits for this. */
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
 * Does `work` once per key, inside the caller's transaction; a repeat gets the first answer, for 24 h. A second call at
 * the same time waits on the unique key until the first has committed. Another body under the same key:
 * `idempotency_mismatch`.
 */
export async function once<T>(sql: RunSql, scope: OnceKey | undefined, work: () => Promise<T>): Promise<T> {
  if (!scope) return work()
  const id = [scope.principal, scope.route, scope.key]
  await sql(forgetOld, [])
  const { rows: claimed } = await sql(claim, [...id, scope.bodyHash])
  if (claimed.length > 0) {
    const answer = await work()
    await sql(save, [...id, JSON.stringify(kept({ answer }, scope))])
    return answer
  }
  const { rows } = await sql(recall, id)
  const [first] = rows as { body_hash: Buffer; response: Kept<T> }[]
  if (!first) throw new AppError('conflict', 'the first request with this Idempotency-Key has not finished')
  if (!first.body_hash.equals(scope.bodyHash)) {
    throw new AppError('idempotency_mismatch', 'this Idempotency-Key was used with another body; take a new key')
  }
  return opened(first.response, scope).answer
}

interface Answered<T> {
  readonly answer: T
}

/** An answer as the table has it. */
type Kept<T> = Answered<T> | { readonly sealed: string }

function kept<T>(answered: Answered<T>, scope: OnceKey): Kept<T> {
  const { sealed } = scope.sealer?.seal(JSON.stringify(answered), boundTo(scope)) ?? {}
  return sealed ? { sealed: sealed.toString('base64') } : answered
}

function opened<T>(response: Kept<T>, scope: OnceKey): Answered<T> {
  if (!('sealed' in response)) return response
  if (!scope.sealer) throw new Error(`the answer of ${scope.route} is sealed, and nothing opens it`)
  try {
    const plain = scope.sealer.open(Buffer.from(response.sealed, 'base64'), boundTo(scope))
    return JSON.parse(plain.toString()) as Answered<T>
  } catch (error) {
    if (!(error instanceof SealError) || error.reason !== 'unknown_key') throw error
    const message = 'the first answer to this Idempotency-Key went with its encryption key; take a new key'
    throw new AppError('conflict', message, { cause: error })
  }
}

const boundTo = ({ principal, route, key }: OnceKey): string[] => [principal, route, key]
