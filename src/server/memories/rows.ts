import type { Selectable } from 'kysely'
import type { Memory } from '../../contract/memories.ts'
import type { MemoryTable } from '../db/tables/agents.ts'
import { invalidCursor } from '../platform/errors.ts'

/** Columns that responses show. */
export const columns = `
  m.id, m.agent_id, m.text, m.tags, m.type, m.priority, m.disabled, m.times_applied, m.last_applied_at, m.source,
  m.created_at, m.session_id, m.created_by`

export type MemoryRow = Omit<Selectable<MemoryTable>, 'folded' | 'words'>

export const toMemory = (row: MemoryRow): Memory => ({
  id: row.id,
  agent_id: row.agent_id,
  text: row.text,
  tags: row.tags,
  type: row.type,
  priority: row.priority,
  disabled: row.disabled,
  times_applied: row.times_applied,
  last_applied_at: row.last_applied_at?.toISOString() ?? null,
  source: row.source,
  created_at: row.created_at.toISOString(),
  session_id: row.session_id,
  created_by: row.created_by,
})

/** Order of every list and of injection. Gaps: section 8. */
export const order = 'm.priority desc, m.times_applied desc, m.created_at desc, m.id desc'

/** Position of a row in that order, for cursors; a JavaScript date would lose the microseconds. */
export const place = `
  m.priority || '.' || m.times_applied || '.' || (extract(epoch from m.created_at) * 1000000)::bigint || '.' || m.id
  as place`

/** SQL that is true for rows after a position; for all rows when they are null. */
export const isBehind = (first: number): string => `
  ($${first}::bigint is null or (m.priority, m.times_applied, m.created_at, m.id) <
    ($${first}, $${first + 1}::bigint, timestamptz 'epoch' + $${first + 2}::float8 * interval '1 microsecond',
     $${first + 3}::text))`

/** Returns the parameters of `isBehind`. Throws `invalid_request`. */
export function placeValues(after: string | undefined): readonly (string | null)[] {
  if (after === undefined) return [null, null, null, null]
  const [, ...values] = /^(-?\d{1,10})[.](\d{1,16})[.](\d{1,16})[.](\w{1,100})$/.exec(after) ?? []
  if (values.length === 0) throw invalidCursor()
  return values
}
