import type { Pool } from 'pg'

/** A stored piece of a file. */
export interface StoredPiece {
  readonly hash: string
  /** Size of the uncompressed piece. */
  readonly bytes: number
  readonly encoding: 'raw' | 'zstd'
  /** Null when the piece is in the object store, under `objectKey`. */
  readonly data: Buffer | null
  readonly objectKey: string | null
}

// An unreferenced piece may be deleted concurrently: a row that is being deleted is in neither result.
const retainText = `
  with kept as (
    update workspace_blobs set loose_since = clock_timestamp()
    where owner_id = $1 and hash = any ($2) and loose_since is not null returning hash
  )
  select hash from kept
  union select hash from workspace_blobs where owner_id = $1 and hash = any ($2) and loose_since is null`

/** Locks the rows in a fixed order, so that two sessions of an owner cannot deadlock. */
const needText = `
  update workspace_blobs set loose_since = null where owner_id = $1 and hash in (
    select hash from workspace_blobs where owner_id = $1 and hash = any ($2) and loose_since is not null
    order by hash for update)`

interface Queryable {
  query(text: string, values: unknown[]): Promise<unknown>
}

const bytesOf = (hashes: readonly string[]): Buffer[] => hashes.map(hash => Buffer.from(hash, 'hex'))

/** Tables `workspace_blobs` (pieces of files) and `workspace_refs` (which session needs which piece). */
export type BlobStore = ReturnType<typeof blobStore>

export function blobStore(pool: Pool) {
  return {
    /** Returns those of the given pieces that are stored. They are retained for a day even if no session needs them. */
    async retain(owner: string, hashes: readonly string[]): Promise<ReadonlySet<string>> {
      const { rows } = await pool.query<{ hash: Buffer }>(retainText, [owner, bytesOf(hashes)])
      return new Set(rows.map(({ hash }) => hash.toString('hex')))
    },

    async insert(owner: string, pieces: readonly StoredPiece[]): Promise<void> {
      // When another process stored the piece first, our object stays in the list of objects to delete.
      const text = `
        with stored as (
          insert into workspace_blobs (owner_id, hash, bytes, encoding, data, object_key)
          select $1, piece.* from unnest($2::bytea[], $3::int[], $4::text[], $5::bytea[], $6::text[]) as piece
          on conflict (owner_id, hash) do nothing returning object_key
        )
        delete from workspace_objects where object_key in (select object_key from stored)`
      const hashes = bytesOf(pieces.map(({ hash }) => hash))
      const columns = [pieces.map(({ bytes }) => bytes), pieces.map(({ encoding }) => encoding)]
      const places = [pieces.map(({ data }) => data), pieces.map(({ objectKey }) => objectKey)]
      await pool.query(text, [owner, hashes, ...columns, ...places])
    },

    /** Records objects that are about to be written. Objects without a piece are deleted a day later. */
    async announce(objectKeys: readonly string[]): Promise<void> {
      const text = `
        insert into workspace_objects (object_key, delete_after)
        select unnest($1::text[]), clock_timestamp() + interval '1 day'`
      await pool.query(text, [objectKeys])
    },

    /** Returns undefined when there is no such piece. */
    async read(owner: string, hash: string): Promise<StoredPiece | undefined> {
      const text =
        'select bytes, encoding, data, object_key as "objectKey" from workspace_blobs where owner_id = $1 and hash = $2'
      const { rows } = await pool.query<Omit<StoredPiece, 'hash'>>({
        name: 'read_blob',
        text,
        values: [owner, Buffer.from(hash, 'hex')],
      })
      return rows[0] && { ...rows[0], hash }
    },

    /** Records that a session needs these pieces until it is deleted. */
    async need(on: Queryable, sessionId: string, { owner, hashes }: Needed): Promise<void> {
      if (hashes.length === 0) return
      const text = `
        insert into workspace_refs (session_id, owner_id, hash) select $1, $2, unnest($3::bytea[])
        on conflict (session_id, hash) do nothing`
      await on.query(text, [sessionId, owner, bytesOf(hashes)])
      await on.query(needText, [owner, bytesOf(hashes)])
    },
  }
}

export interface Needed {
  readonly owner: string
  readonly hashes: readonly string[]
}
