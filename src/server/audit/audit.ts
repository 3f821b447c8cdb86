import type { RunSql } from '../db/once.ts'
import type { Actor } from '../http/caller.ts'
import { newId } from '../platform/ids.ts'
import { withoutSecrets } from './secret-fields.ts'
import type { AuditStore } from './store.ts'

/** One change, as the log keeps it. */
export interface AuditEntry {
  readonly actor: Actor
  /** Object and verb, such as `key.create`. */
  readonly action: string
  readonly objectId: string
  /** Whose the object is; null or absent where it is nobody's. */
  readonly ownerId?: string | null
  /** Public fields only; absent for what did not exist before. */
  readonly before?: object | null | undefined
  /** Public fields only; absent for what exists no more. */
  readonly after?: object | null | undefined
}

/** The log of changes. Security: S55. */
export interface Audit {
  /** Adds one entry in the transaction that the caller has open. When it fails, the change must not stay either. */
  record(sql: RunSql, entry: AuditEntry): Promise<void>
}

/** Writes entries through `store`. Text of fields that name secrets is replaced, should a caller forget. */
export const createAudit = ({ insert }: Pick<AuditStore, 'insert'>): Audit => ({
  record: (sql, { actor, action, objectId, ownerId, before, after }) =>
    insert(sql, {
      id: newId('aud'),
      principal: actor.principal,
      role: actor.role,
      key_id: actor.keyId ?? null,
      address: actor.address ?? null,
      request_id: actor.requestId ?? null,
      action,
      object_id: objectId,
      owner_id: ownerId ?? null,
      before: jsonOf(before),
      after: jsonOf(after),
    }),
})

const jsonOf = (fields: object | null | undefined): string | null =>
  fields ? JSON.stringify(withoutSecrets(fields)) : null
