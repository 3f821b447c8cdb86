import type { FastifyInstance } from 'fastify'
import { type AuditEntry, auditRoutes } from '../../contract/audit.ts'
import type { Cell } from '../../contract/csv.ts'
import { bind } from '../http/bind.ts'
import { allRows, CsvFile } from '../http/csv-file.ts'
import { pageOf } from '../http/page.ts'
import { checkTimezone, timeRangeOf } from '../http/time-range.ts'
import type { AuditStore } from './store.ts'

/** The audit log for admins, as pages or as one CSV file. A scoped admin sees changes of its owner's objects only. */
export function serveAudit(app: FastifyInstance, { log }: { log: Pick<AuditStore, 'list'> }): void {
  bind(app, auditRoutes.list, async ({ query }, { ownerScope }) => {
    const { timezone = 'UTC', ...equal } = query
    const filter = { ...equal, ...timeRangeOf(query, checkTimezone(timezone)), owner: ownerScope }
    const load = (page: { after: string | undefined; limit: number }) => log.list(filter, page)
    if (query.format === 'csv') return new CsvFile('audit', columns, lines(allRows(load, ({ place }) => place)))
    const { items, next_cursor } = await pageOf(query, load, ({ place }) => place)
    return { entries: items.map(({ entry }) => entry), next_cursor }
  })
}

const columns = [
  'created_at',
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
] as const satisfies (keyof AuditEntry)[]

async function* lines(rows: AsyncIterable<{ readonly entry: AuditEntry }>): AsyncGenerator<readonly Cell[]> {
  for await (const { entry } of rows) yield columns.map(column => cellOf(entry[column]))
}

const cellOf = (value: AuditEntry[keyof AuditEntry]): Cell =>
  typeof value === 'object' && value !== null ? JSON.stringify(value) : value
