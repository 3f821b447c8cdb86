import type { Pool, PoolClient } from 'pg'

/** Content of a file that a prompt carries. */
export interface SessionFile {
  /** SHA-256 in hexadecimal digits. */
  readonly hash: string
  readonly owner: string
  readonly bytes: number
  /** Hashes of its pieces, in order. */
  readonly pieces: readonly string[]
}

type Queryable = Pool | PoolClient

const bytesOf = (hash: string): Buffer => Buffer.from(hash, 'hex')

/** Table `session_files`. */
export type SessionFileStore = ReturnType<typeof sessionFileStore>

export function sessionFileStore(pool: Pool) {
  return {
    /** Adds a file to a session. Does nothing when the session has it. */
    async add(on: Queryable, sessionId: string, { hash, owner, bytes, pieces }: SessionFile): Promise<void> {
      const text = `
        insert into session_files (session_id, hash, owner_id, bytes, pieces) values ($1, $2, $3, $4, $5)
        on conflict do nothing`
      await on.query(text, [sessionId, bytesOf(hash), owner, bytes, pieces.map(bytesOf)])
    },

    /** Returns the bytes of all files of a session. */
    async bytesIn(on: Queryable, sessionId: string): Promise<number> {
      const text = 'select coalesce(sum(bytes), 0)::bigint as bytes from session_files where session_id = $1'
      const { rows } = await on.query<{ bytes: string | number }>(text, [sessionId])
      return Number(rows[0]?.bytes ?? 0)
    },

    async find(sessionId: string, hash: string): Promise<SessionFile | undefined> {
      const text = 'select owner_id, bytes, pieces from session_files where session_id = $1 and hash = $2'
      const { rows } = await pool.query<{ owner_id: string; bytes: number; pieces: Buffer[] }>(text, [
        sessionId,
        bytesOf(hash),
      ])
      const [row] = rows
      if (!row) return undefined
      return { hash, owner: row.owner_id, bytes: row.bytes, pieces: row.pieces.map(piece => piece.toString('hex')) }
    },
  }
}
