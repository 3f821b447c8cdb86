import type { ColumnType } from 'kysely'

/** A `json` column: read as a value, written as JSON text, because pg would send an array as a PostgreSQL array. */
export type Json<T = unknown> = ColumnType<T, string, string>

/** A time that defaults to the database clock. */
export type DefaultTime = ColumnType<Date, Date | undefined, Date>

export type JsonObject = Readonly<Record<string, unknown>>

/** Columns of an encrypted value. It is bound to the version, besides the ids of its row. */
export interface EncryptedValue {
  version: number
  sealed: Buffer
  key_id: string
}
