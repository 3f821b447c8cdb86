import { type Insertable, type Kysely, sql } from 'kysely'
import type { AuditEntry } from '../../contract/audit.ts'
import { isOlderThan, place } from '../db/by-time.ts'
import { parametersFor } from '../db/column-lists.ts'
import type { Database } from '../db/database.ts'
import type { RunSql } from '../db/once.ts'
import type { AuditLogTable } from '../db/tables/access.ts'

/** A row to insert; the database sets `created_at`. */
type AuditRow = Omit<Insertable<AuditLogTable>, 'created_at'>

const columns = [
  'id',
  'principal',
  'role',
  'key_id',
  'address',
  'request_id',
  'action',
  'object_id',
  'owner_id',
  'before',
  'after',
] as const satisfies (keyof AuditRow)[]

/** Columns that a filter compares. */
const compared = ['object_id', 'principal', 'key_id', 'owner_id', 'request_id'] as const

const insertText = `
  insert into audit_log (${columns.join(', ')})
  values (${parametersFor(columns)})`

export interface AuditFilter {
  /** `key.create`, or `key.*`. */
  readonly action?: string
  readonly object_id?: string
  readonly principal?: string
  readonly key_id?: string
  readonly owner_id?: string
  readonly request_id?: string
  /** Lists only objects of this owner; undefined lists all, also objects without an owner. */
  readonly owner?: string | undefined
  readonly from?: Date | undefined
  readonly to?: Date | undefined
}

/** An entry and its position in the list, for cursors. */
interface Listed {
  readonly entry: AuditEntry
  readonly place: string
}

/** `key.*` is every action on keys. */
const isAction = (action: string) =>
  action.endsWith('*') ? sql<boolean>`starts_with(action, ${action.slice(0, -1)})` : sql<boolean>`action = ${action}`

export type AuditStore = ReturnType<typeof auditStore>

/** Table `audit_log`: one row per change. Triggers reject all statements except inserts. */
export function auditStore(db: Kysely<Database>) {
  return {
    /** Inserts one row in the caller's transaction. */
    async insert(sql: RunSql, row: AuditRow): Promise<void> {
      await sql(
        insertText,
        columns.map(column => row[column]),
      )
    },

    /** Returns entries, newest first. */
    async list(filter: AuditFilter, page: { after: string | undefined; limit: number }): Promise<Listed[]> {
      let all = db.selectFrom('audit_log').select([...columns, 'created_at', place.as('place')])
      if (filter.action !== undefined) all = all.where(isAction(filter.action))
      for (const column of compared) {
        const value = filter[column]
        if (value !== undefined) all = all.where(column, '=', value)
      }
      if (filter.owner !== undefined) all = all.where('owner_id', '=', filter.owner)
      if (filter.from) all = all.where('created_at', '>=', filter.from)
      if (filter.to) all = all.where('created_at', '<', filter.to)
      if (page.after !== undefined) all = all.where(isOlderThan(page.after))
      const rows = await all.orderBy('created_at', 'desc').orderBy('id', 'desc').limit(page.limit).execute()
      return rows.map(({ place, created_at, ...row }) => ({
        place,
        entry: { ...row, created_at: created_at.toISOString(), before: row.before ?? null, after: row.after ?? null },
      }))
    },
  }
}
