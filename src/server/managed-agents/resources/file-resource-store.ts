import type { Pool } from 'pg'

/** An uploaded file that was copied into the workspace of a session. */
export interface FileResource {
  readonly id: string
  readonly file_id: string
  readonly mount_path: string
  readonly created_at: Date
}

export interface NewFileResource extends Omit<FileResource, 'created_at'> {
  readonly session_id: string
}

const columns = 'id, file_id, mount_path, created_at'

/** Table `session_file_resources`. */
export type FileResourceStore = ReturnType<typeof fileResourceStore>

export function fileResourceStore(pool: Pool) {
  return {
    async insert({ id, session_id, file_id, mount_path }: NewFileResource): Promise<void> {
      const text = 'insert into session_file_resources (id, session_id, file_id, mount_path) values ($1, $2, $3, $4)'
      await pool.query(text, [id, session_id, file_id, mount_path])
    },

    async find(sessionId: string, id: string): Promise<FileResource | undefined> {
      const text = `select ${columns} from session_file_resources where session_id = $1 and id = $2`
      return (await pool.query<FileResource>(text, [sessionId, id])).rows[0]
    },

    async remove(id: string): Promise<void> {
      await pool.query('delete from session_file_resources where id = $1', [id])
    },
  }
}
