import type { RunSql } from '../db/once.ts'
import type { Actor } from '../http/caller.ts'
import { newId } from '../platform/ids.ts'
import { withoutSecrets } from './secret-fields.ts'
import type { AuditStore } from './store.ts'

/** One recorded change. */
export interface AuditEntry {
  readonly actor: Actor
  /** Object and verb, such as `key.create`. */
  readonly action: string
  readonly objectId: string
  /** Owner of the object; null or absent for an object without one. */
  readonly ownerId?: string | null
  /** Public fields only; absent when the object is new. */
  readonly before?: object | null | undefined
  /** Public fields only; absent when the object was deleted. */
  readonly after?: object | null | undefined
}

/** The audit log. Security: S55. */
export interface Audit {
  /** Inserts one entry in the caller's open transaction. When it fails, the caller must roll the change back. */
  record(sql: RunSql, entry: AuditEntry): Promise<void>
}

/** Returns an audit log over `insert`. It masks the text of secret fields in case a caller passes one by mistake. */
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
