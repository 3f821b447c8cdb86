import type { MemoryVersionObject } from '../../contract/memory-versions.ts'
import type { Actor } from '../http/caller.ts'
import type { Author, VersionRow } from './version-store.ts'

/** Returns the key that a change is made with; the principal of a caller without a key. */
export const keyOf = ({ keyId, principal }: Actor): string => keyId ?? principal

export const toMemoryVersion = (row: VersionRow, view: 'basic' | 'full'): MemoryVersionObject => ({
  id: row.id,
  type: 'memory_version',
  memory_store_id: row.store_id,
  memory_id: row.memory_id,
  operation: row.operation,
  path: row.path,
  content: view === 'full' ? row.content : null,
  content_sha256: row.sha256,
  content_size_bytes: row.bytes,
  created_by: authorOf(row),
  created_at: row.created_at.toISOString(),
  redacted_by: authorOf({ key_id: row.redacted_by, session_id: null }),
  redacted_at: row.redacted_at?.toISOString() ?? null,
})

function authorOf({ key_id: api_key_id, session_id }: Author): MemoryVersionObject['created_by'] {
  if (session_id !== null) return { type: 'session_actor', session_id }
  return api_key_id === null ? null : { type: 'api_actor', api_key_id }
}
