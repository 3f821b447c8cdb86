import type { AppliedMigration } from '../db/migrate.ts'

/** First line of a backup file, without the version of its format and the line end. */
export const magic = 'SWITCHYARD BACKUP '

/** Version of this format. Readers reject any other. */
export const formatVersion = 1

/** Bytes of rows that one frame holds before compression. */
export const frameBytes = 1024 * 1024

/** Limit of a frame, compressed or not; a larger one is damage. */
export const maxFrameBytes = 8 * frameBytes

/** Limit of the header line. */
export const maxHeaderBytes = 4_096

/** Bytes before the content of a frame: its type and its length. */
export const frameHeadBytes = 5

/** Kinds of frames with their byte in the file, in the order in which they appear. `table` to `tableEnd` repeat. */
export const frameTypes = { manifest: 1, keys: 2, table: 3, rows: 4, tableEnd: 5, end: 6 } as const

export type FrameType = keyof typeof frameTypes

/** Second line of the file, as JSON. */
export interface Header {
  /** Absent when the frames are not encrypted. */
  readonly encryption?: PassphraseSettings
}

/** How the key of the file is derived from the passphrase. */
export interface PassphraseSettings {
  readonly kdf: 'scrypt'
  readonly cost: number
  readonly blockSize: number
  readonly parallelization: number
  /** Base64 of 16 random bytes; new for every file, so that no key encrypts two files. */
  readonly salt: string
}

/** A table in the backup, with the columns that it stores. */
export interface BackupTable {
  readonly name: string
  readonly columns: readonly string[]
  /** Last values of the sequences of its columns. */
  readonly sequences: Readonly<Record<string, number>>
}

/** Describes a backup. It contains no secret. */
export interface Manifest {
  /** Version of Switchyard that wrote the file. */
  readonly version: string
  /** Time of the snapshot, ISO 8601. */
  readonly created_at: string
  /** Version of the PostgreSQL server. */
  readonly postgres: string
  readonly database: 'embedded' | 'external'
  /** Transaction id that this server had not reached; rows have lower ones. */
  readonly next_transaction: string
  /** Those of the database. */
  readonly migrations: readonly AppliedMigration[]
  /** Ids of the encryption keys that the stored values need. */
  readonly encryption_key_ids: readonly string[]
  /** True when the file contains the encryption keys. */
  readonly has_keys: boolean
  /** In the order of a restore: referenced tables come first. */
  readonly tables: readonly BackupTable[]
  /** Tables whose rows are not in the file. */
  readonly omitted: readonly string[]
  /** Pieces of files that are in the object store, and not in the file. */
  readonly objects: number
}

/** Content of the frame after the rows of a table. */
export interface TableEnd {
  readonly name: string
  readonly rows: number
  readonly bytes: number
  /** SHA-256 of the rows in the text format of COPY. */
  readonly sha256: string
}

/** Content of the last frame. A file without it is incomplete. */
export interface BackupEnd {
  readonly tables: number
  readonly rows: number
  /** SHA-256 of all bytes of the file before this frame. */
  readonly sha256: string
}
