import { infiniteQueryOptions } from '@tanstack/react-query'
import { client } from '../../data/client.ts'
import { live } from '../../data/live.ts'
import { present } from '../../data/present.ts'
import { routes } from '../../data/routes.ts'

export const filterNames = ['action', 'object_id', 'principal', 'from', 'to'] as const

/** Filters of the list, as in the address. */
export type AuditFilters = Readonly<Partial<Record<(typeof filterNames)[number], string | undefined>>>

export const auditQuery = (filters: AuditFilters) =>
  infiniteQueryOptions({
    queryKey: ['audit', filters],
    queryFn: ({ pageParam: cursor }) => client.audit.list({ query: present({ limit: 100, cursor, ...filters }) }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: page => page.next_cursor ?? undefined,
    meta: live,
  })

/** All entries of the filters as a file. */
export const loadAuditFile = (filters: AuditFilters): Promise<Response> =>
  client.open(routes.audit, { query: present({ ...filters, format: 'csv' as const }) })
