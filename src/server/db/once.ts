import { AppError } from '../platform/errors.ts'

/** Runs one statement in the transaction that the caller has open. */
export type RunSql = (text: string, values: readonly unknown[]) => Promise<{ readonly rows: readonly unknown[] }>

/** Who asked, for which route, under which key, with which body. */
export interface OnceKey {
  readonly principal: string
  readonly route: string
  readonly key: string
  readonly bodyHash: Buffer
}

const claim = `
  insert into idempotency_keys (principal, route, key, body_hash) values ($1, $2, $3, $4)
  on conflict (principal, route, key) do nothing
  returning key`
const recall = 'select body_hash, response from idempotency_keys where principal = $1 and route = $2 and key = $3'
const save = 'update idempotency_keys set response = $4 where principal = $1 and route = $2 and key = $3'

/**
 * Does `work` once per key, inside the caller's transaction; a repeat gets the first answer. A second call at the same
 * time waits on the unique key until the first has committed. Another body under the same key: `idempotency_mismatch`.
 */
export async function once<T>(sql: RunSql, scope: OnceKey | undefined, work: () => Promise<T>): Promise<T> {
  if (!scope) return work()
  const id = [scope.principal, scope.route, scope.key]
  const { rows: claimed } = await sql(claim, [...id, scope.bodyHash])
  if (claimed.length > 0) {
    const answer = await work()
    await sql(save, [...id, JSON.stringify({ answer })])
    return answer
  }
  const { rows } = await sql(recall, id)
  const [first] = rows as { body_hash: Buffer; response: { answer: T } }[]
  if (!first) throw new AppError('conflict', 'the first request with this Idempotency-Key has not finished')
  if (!first.body_hash.equals(scope.bodyHash)) {
    throw new AppError('idempotency_mismatch', 'this Idempotency-Key was used with another body; take a new key')
  }
  return first.response.answer
}
