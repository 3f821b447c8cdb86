import type { DefaultTime, Json } from './columns.ts'

/** Table `workspace_checkpoints`: files of a session at an event of its log. */
export interface WorkspaceCheckpointTable {
  session_id: string
  seq: number
  id: string
  is_full: boolean
  /** JSON, compressed. */
  manifest: Buffer
  files: number
  bytes: number
  /** Null in rows of older releases. */
  changed: number | null
  left_out: Json<readonly { readonly path: string; readonly reason: string }[]>
  created_at: DefaultTime
}

/** Table `workspace_blobs`: pieces of files by SHA-256, once per owner. */
export interface WorkspaceBlobTable {
  owner_id: string
  hash: Buffer
  bytes: number
  encoding: 'raw' | 'zstd'
  /** Null if it is in the object store. */
  data: Buffer | null
  object_key: string | null
  /** Time since which no session references it; null while one does. */
  loose_since: Date | null
}

/** Table `workspace_objects`: objects to delete from the object store. */
export interface WorkspaceObjectTable {
  object_key: string
  delete_after: Date
}

/** Table `workspace_refs`: references of sessions to pieces. */
export interface WorkspaceRefTable {
  session_id: string
  owner_id: string
  hash: Buffer
}

/** Table `files`: files of callers, apart from sessions. */
export interface FileTable {
  id: string
  owner_id: string
  purpose: string
  filename: string
  media_type: string
  bytes: number
  hash: Buffer
  pieces: Buffer[]
  created_at: DefaultTime
  expires_at: Date | null
}

/** Table `provider_files`: copies of files at providers. */
export interface ProviderFileTable {
  file_id: string
  credential: string
  provider_id: string
  created_at: DefaultTime
}

/** Table `session_files`: content of files that prompts carry. */
export interface SessionFileTable {
  session_id: string
  hash: Buffer
  owner_id: string
  bytes: number
  pieces: Buffer[]
  created_at: DefaultTime
}
