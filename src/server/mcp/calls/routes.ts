import type { FastifyInstance } from 'fastify'
import { mcpCallRoutes } from '../../../contract/mcp-calls.ts'
import type { Input } from '../../../contract/route.ts'
import { bind } from '../../http/bind.ts'
import type { Caller } from '../../http/caller.ts'
import { pageOf } from '../../http/page.ts'
import { checkTimezone, timeRangeOf } from '../../http/time-range.ts'
import type { CallFilter, McpCallStore } from './store.ts'

type Query = Input<typeof mcpCallRoutes.list>['query'] & Input<typeof mcpCallRoutes.summary>['query']

const maxGroups = 1_000

/** Serves the log of calls. Only admins without an owner see the calls of others. */
export function serveMcpCalls(
  app: FastifyInstance,
  { calls }: { readonly calls: Pick<McpCallStore, 'list' | 'summary'> },
): void {
  bind(app, mcpCallRoutes.list, async ({ query }, caller) => {
    const filter = filterOf(query, caller)
    const { items, next_cursor } = await pageOf(
      query,
      next => calls.list(filter, next),
      ({ place }) => place,
    )
    return { calls: items.map(({ call }) => call), next_cursor }
  })

  bind(app, mcpCallRoutes.summary, async ({ query }, caller) => {
    const found = await calls.summary(filterOf(query, caller), { by: query.group_by ?? 'server', limit: maxGroups + 1 })
    return { data: found.slice(0, maxGroups), has_more: found.length > maxGroups }
  })
}

function filterOf(query: Query, { role, ownerScope, principal }: Caller): CallFilter {
  const { timezone = 'UTC', ...equal } = query
  const isForAll = role === 'admin' && ownerScope === undefined
  return { ...equal, ...timeRangeOf(query, checkTimezone(timezone)), ...(!isForAll && { principal }) }
}
