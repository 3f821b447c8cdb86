import type { Pool } from 'pg'
import { transaction } from '../db/connect.ts'
import { type OnceKey, once, type RunSql, sqlOfClient } from '../db/once.ts'
import { AppError } from '../platform/errors.ts'

/** A stored file without its content. */
export interface FileInfo {
  readonly id: string
  readonly purpose: string
  readonly filename: string
  readonly media_type: string
  readonly bytes: number
  /** SHA-256 in hexadecimal digits. */
  readonly sha256: string
  readonly created_at: Date
  /** Null: never. */
  readonly expires_at: Date | null
}

/** A stored file. */
export interface StoredFile extends FileInfo {
  /** Hashes of its pieces, in order. */
  readonly pieces: readonly string[]
}

/** A file that is about to be stored; its pieces are. */
export interface NewStoredFile extends Omit<StoredFile, 'created_at' | 'expires_at'> {
  readonly owner: string
  /** Lifetime; undefined: without end. */
  readonly expiresInS: number | undefined
}

export interface FilesPage {
  readonly after?: string | undefined
  readonly before?: string | undefined
  readonly purpose?: string | undefined
  readonly order: 'asc' | 'desc'
  readonly limit: number
}

/** Called in the transaction of a change. When it throws, the change rolls back. */
export type OnFileChange = (sql: RunSql, file: StoredFile) => Promise<void>

interface InfoRow extends Omit<FileInfo, 'sha256'> {
  readonly hash: Buffer
}

interface Row extends InfoRow {
  readonly pieces: Buffer[]
}

const infoColumns = 'id, purpose, filename, media_type, bytes, hash, created_at, expires_at'
const columns = `${infoColumns}, pieces`
const isAlive = '(expires_at is null or expires_at > clock_timestamp())'

const toInfo = ({ hash, ...rest }: InfoRow): FileInfo => ({ ...rest, sha256: hash.toString('hex') })

const toFile = ({ pieces, ...rest }: Row): StoredFile => ({
  ...toInfo(rest),
  pieces: pieces.map(piece => piece.toString('hex')),
})

const bytesOf = (hash: string): Buffer => Buffer.from(hash, 'hex')

/** Pieces with this time are deleted by the next sweep, whatever their age. */
const discardText = `update workspace_blobs set loose_since = '-infinity' where owner_id = $1`

const insertText = `
  insert into files (id, owner_id, purpose, filename, media_type, bytes, hash, pieces, created_at, expires_at)
  select $1, $2, $3, $4, $5, $6, $7, $8, now, now + $9::float8 * interval '1 second' from clock_timestamp() as now
  returning ${columns}`

/** Table `files`. A file is visible to its owner only. */
export type FileStore = ReturnType<typeof fileStore>

export function fileStore(pool: Pool) {
  const changing = <T>(work: (sql: RunSql) => Promise<T>): Promise<T> =>
    transaction(pool, client => work(sqlOfClient(client)))

  /** Returns the bytes of all files of an owner. */
  async function bytesIn(sql: RunSql, owner: string): Promise<number> {
    const text = 'select coalesce(sum(bytes), 0)::bigint as bytes from files where owner_id = $1'
    const [row] = (await sql(text, [owner])).rows as { readonly bytes: number }[]
    return row?.bytes ?? 0
  }

  return {
    bytesOf: (owner: string): Promise<number> => bytesIn((text, values) => pool.query(text, [...values]), owner),

    /**
     * Stores a file unless `check`, which gets the bytes of the owner's other files, throws. Returns the file of the first
     * request with the idempotency key instead if there is one.
     */
    async insert(file: NewStoredFile, { check, onChange, idempotency }: Inserting): Promise<StoredFile> {
      const { id, owner, purpose, filename, media_type, bytes, sha256, pieces, expiresInS } = file
      const insertFile = async (sql: RunSql): Promise<StoredFile> => {
        // Concurrent uploads of an owner must not exceed the limit together.
        await sql(`select pg_advisory_xact_lock(hashtextextended('files ' || $1, 0))`, [owner])
        check(await bytesIn(sql, owner))
        const hashes = pieces.map(bytesOf)
        const values = [id, owner, purpose, filename, media_type, bytes, bytesOf(sha256), hashes, expiresInS ?? null]
        const stored = toFile((await sql(insertText, values)).rows[0] as Row)
        const { rows } = await sql('update workspace_blobs set loose_since = null where owner_id = $1 returning hash', [
          id,
        ])
        if (rows.length !== new Set(pieces).size)
          throw new AppError(
            'conflict',
            'the upload took longer than a day, and its content was deleted; send it again',
          )
        await onChange(sql, stored)
        return stored
      }
      return ofAnswer(await changing(sql => once(sql, idempotency, async () => toAnswer(await insertFile(sql)))))
    },

    /** Returns those of the given files that belong to the owner. */
    async among(owner: string, ids: readonly string[]): Promise<StoredFile[]> {
      const text = `select ${columns} from files where owner_id = $1 and id = any ($2) and ${isAlive}`
      return (await pool.query<Row>(text, [owner, ids])).rows.map(toFile)
    },

    /** Returns files in the order of their creation. */
    async list(owner: string, { after, before, purpose, order, limit }: FilesPage): Promise<FileInfo[]> {
      const [next, previous] = order === 'asc' ? ['>', '<'] : ['<', '>']
      // A page before a file ends next to it, so it is read backwards.
      const isBackwards = before !== undefined && after === undefined
      const direction = (order === 'asc') === isBackwards ? 'desc' : 'asc'
      const text = `
        select ${infoColumns} from files
        where owner_id = $1 and ${isAlive} and ($2::text is null or purpose = $2)
          and ($3::text is null or id ${next} $3) and ($4::text is null or id ${previous} $4)
        order by id ${direction} limit $5`
      const values = [owner, purpose ?? null, after ?? null, before ?? null, limit]
      const files = (await pool.query<InfoRow>(text, values)).rows.map(toInfo)
      return isBackwards ? files.toReversed() : files
    },

    /** Deletes a file; undefined when the owner has none with that id. Its content goes with the next sweep. */
    remove: (owner: string, id: string, onChange: OnFileChange): Promise<StoredFile | undefined> =>
      changing(async sql => {
        const text = `delete from files where owner_id = $1 and id = $2 and ${isAlive} returning ${columns}`
        const [row] = (await sql(text, [owner, id])).rows as Row[]
        if (!row) return undefined
        await sql(discardText, [id])
        const file = toFile(row)
        await onChange(sql, file)
        return file
      }),

    /** Deletes the pieces of an upload that failed. */
    async discard(id: string): Promise<void> {
      await pool.query(discardText, [id])
    },
  }
}

interface Inserting {
  readonly check: (otherBytes: number) => void
  readonly onChange: OnFileChange
  readonly idempotency: OnceKey | undefined
}

/** Returns a file as JSON can store it for a repeated request. */
const toAnswer = ({ created_at, expires_at, ...rest }: StoredFile) => ({
  ...rest,
  created_at: created_at.toISOString(),
  expires_at: expires_at?.toISOString() ?? null,
})

const ofAnswer = ({ created_at, expires_at, ...rest }: ReturnType<typeof toAnswer>): StoredFile => ({
  ...rest,
  created_at: new Date(created_at),
  expires_at: expires_at === null ? null : new Date(expires_at),
})
