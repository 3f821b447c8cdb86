import type { Pool } from 'pg'
import type { BoundRow } from '../../db/encrypted-rows.ts'
import type { EncryptedValue } from '../../platform/encryption.ts'

/** Name of an entry: `id` is a digest of the principal and the request. */
export interface EntryName {
  readonly principal: string
  readonly id: string
}

export type EntryRow = BoundRow<'response_cache'> & EncryptedValue

type FoundRow = BoundRow<'response_cache'> & { readonly sealed: Buffer; readonly age_s: number }

const milliseconds = (parameter: string) => `${parameter}::float8 * interval '1 millisecond'`

/** Checks the age as well: an entry may have been stored with a longer lifetime than this call allows. */
const findText = `
  select principal, id, version, sealed, extract(epoch from clock_timestamp() - created_at)::float8 as age_s
  from response_cache
  where principal = $1 and id = $2 and expires_at > clock_timestamp() and created_at > clock_timestamp() - ${milliseconds('$3')}`

const putText = `
  insert into response_cache (principal, id, bytes, expires_at, version, sealed, key_id)
  values ($1, $2, $3, clock_timestamp() + ${milliseconds('$4')}, $5, $6, $7)
  on conflict (principal, id) do update set
    bytes = excluded.bytes, created_at = clock_timestamp(), expires_at = excluded.expires_at, version = excluded.version,
    sealed = excluded.sealed, key_id = excluded.key_id`

/** Maximum entries that one statement deletes. */
const batchRows = 500

/** Reads the sum from an index alone. Skips entries that another process is deleting. */
const trimText = `
  with doomed as (
    select principal, id
    from (select principal, id, sum(bytes) over (order by created_at desc, principal, id) as total from response_cache) as aged
    where total > $1 order by total desc limit ${batchRows}
  ), locked as (
    select c.principal, c.id from response_cache c join doomed using (principal, id) for update of c skip locked
  )
  delete from response_cache c using locked l where c.principal = l.principal and c.id = l.id`

/** Table `response_cache`. */
export type ResponseCacheStore = ReturnType<typeof responseCacheStore>

export function responseCacheStore(pool: Pool) {
  return {
    /** Returns the entry, unless it has expired or is older than `ttlMs`. */
    async find({ principal, id }: EntryName, ttlMs: number): Promise<FoundRow | undefined> {
      const query = { name: 'cached_response', text: findText, values: [principal, id, ttlMs] }
      return (await pool.query<FoundRow>(query)).rows[0]
    },

    /** Inserts or replaces the entry. */
    async put({ principal, id, version, sealed, key_id }: EntryRow, ttlMs: number): Promise<void> {
      const values = [principal, id, sealed.length, ttlMs, version, sealed, key_id]
      await pool.query({ name: 'cache_response', text: putText, values })
    },

    /** Deletes up to a batch of the oldest entries beyond `maxBytes`. True when there may be more. */
    async trim(maxBytes: number): Promise<boolean> {
      return (await pool.query(trimText, [maxBytes])).rowCount === batchRows
    },
  }
}
