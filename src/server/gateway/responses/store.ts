import type { Pool } from 'pg'
import { transaction } from '../../db/connect.ts'
import type { BoundRow } from '../../db/encrypted-rows.ts'
import type { EncryptedValue } from '../../platform/encryption.ts'
import { AppError } from '../../platform/errors.ts'

/** Key of a response. Response ids of upstreams are unique only per principal. */
export interface ResponseName {
  readonly principal: string
  readonly id: string
}

/** Response to store. */
export interface NewResponseRow extends ResponseName {
  /** Id of the deployment that served the response. */
  readonly deployment: string
  readonly previous_id: string | null
  /** True: the contents are stored here. False: they are stored at the upstream. */
  readonly is_translated: boolean
}

/** Response that a caller may continue. */
export interface ResponseRow extends NewResponseRow {
  /** Id at the upstream, for a background response of a caller that the upstream stores; null for the same id. */
  readonly upstream_id: string | null
  /** Status of a background response; null for others. */
  readonly background_status: string | null
}

type ContentRow = BoundRow<'response_contents'> & EncryptedValue
export type ChainLink = BoundRow<'response_contents'> & { readonly sealed: Buffer; readonly previous_id: string | null }

const lifetime = `interval '30 days'`

const insertText = `
  insert into responses (principal, id, deployment, previous_id, is_translated, expires_at)
  values ($1, $2, $3, $4, $5, clock_timestamp() + ${lifetime})
  on conflict (principal, id) do update set
    deployment = excluded.deployment, previous_id = excluded.previous_id, is_translated = excluded.is_translated,
    created_at = clock_timestamp(), expires_at = excluded.expires_at`
const insertContentText = `
  insert into response_contents (principal, id, version, sealed, key_id) values ($1, $2, $3, $4, $5)
  on conflict (principal, id) do update set
    version = excluded.version, sealed = excluded.sealed, key_id = excluded.key_id`

const isAlive = 'expires_at > clock_timestamp()'
/** Maximum responses of a chain that are read. */
const maxChain = 2_000
/** Limit of a request body, because a chain is prepended to the input. */
export const maxChainBytes = 32 * 1024 * 1024

/** A link with the bytes of all; without content when there is none, or too much. */
type SizedLink = ChainLink & { readonly bytes: number }

/** Returns the links that have content. Throws `payload_too_large` with the message above the limit. */
function withinLimit(rows: readonly SizedLink[], message: string): ChainLink[] {
  if ((rows[0]?.bytes ?? 0) > maxChainBytes) throw new AppError('payload_too_large', message)
  return rows.filter(({ sealed }) => sealed !== null)
}

/** Tables `responses` and `response_contents`. */
export type ResponseStore = ReturnType<typeof responseStore>

export function responseStore(pool: Pool) {
  return {
    async insert(row: NewResponseRow, content: ContentRow | undefined): Promise<void> {
      const values = [row.principal, row.id, row.deployment, row.previous_id, row.is_translated]
      if (!content) {
        await pool.query(insertText, values)
        return
      }
      await transaction(pool, async client => {
        await client.query(insertText, values)
        const { principal, id, version, sealed, key_id } = content
        await client.query(insertContentText, [principal, id, version, sealed, key_id])
      })
    },

    async find({ principal, id }: ResponseName): Promise<ResponseRow | undefined> {
      const text = `
        select r.principal, r.id, r.deployment, r.previous_id, r.is_translated, r.upstream_id, b.status as background_status
        from responses r left join background_responses b using (principal, id)
        where r.principal = $1 and r.id = $2 and r.${isAlive}`
      return (await pool.query<ResponseRow>(text, [principal, id])).rows[0]
    },

    /** Returns a response and all previous ones, oldest first. Throws `payload_too_large` above 32 MiB. */
    async chain({ principal, id }: ResponseName): Promise<ChainLink[]> {
      const text = `
        with recursive chain as (
          select id, previous_id, 1 as place from responses where principal = $1 and id = $2 and ${isAlive}
          union all
          select r.id, r.previous_id, c.place + 1 from chain c
          join responses r on r.principal = $1 and r.id = c.previous_id and r.${isAlive}
          where c.place < ${maxChain}
        ), sized as (
          select coalesce(sum(octet_length(k.sealed)), 0)::float8 as bytes from chain c
          join response_contents k on k.principal = $1 and k.id = c.id
        )
        select s.bytes, k.principal, k.id, k.version::float8 as version, k.sealed, c.previous_id from sized s
        left join (chain c join response_contents k on k.principal = $1 and k.id = c.id) on s.bytes <= ${maxChainBytes}
        order by c.place desc`
      const { rows } = await pool.query<SizedLink>(text, [principal, id])
      return withinLimit(
        rows,
        'previous_response_id: this chain is larger than 32 MB; send the relevant input without it',
      )
    },

    async content({ principal, id }: ResponseName): Promise<ChainLink | undefined> {
      const text = `
        select k.principal, k.id, k.version::float8 as version, k.sealed, r.previous_id from responses r
        join response_contents k using (principal, id)
        where r.principal = $1 and r.id = $2 and r.${isAlive}`
      return (await pool.query<ChainLink>(text, [principal, id])).rows[0]
    },

    /** Returns the contents of those of the responses that exist. Throws `payload_too_large` above 32 MiB together. */
    async contents(principal: string, ids: readonly string[]): Promise<ChainLink[]> {
      const text = `
        with found as (
          select k.principal, k.id, k.version::float8 as version, k.sealed, r.previous_id from responses r
          join response_contents k using (principal, id)
          where r.principal = $1 and r.id = any ($2) and r.${isAlive}
        ), sized as (select coalesce(sum(octet_length(sealed)), 0)::float8 as bytes from found)
        select s.bytes, f.* from sized s left join found f on s.bytes <= ${maxChainBytes}`
      const { rows } = await pool.query<SizedLink>(text, [principal, ids])
      return withinLimit(
        rows,
        'input: the responses with the referenced items are larger than 32 MB; send the items themselves',
      )
    },

    async remove({ principal, id }: ResponseName): Promise<boolean> {
      const text = `delete from responses where principal = $1 and id = $2 and ${isAlive}`
      return (await pool.query(text, [principal, id])).rowCount === 1
    },
  }
}
