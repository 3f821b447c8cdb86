import type { FastifyInstance } from 'fastify'
import { mcpCallRoutes } from '../../../contract/mcp-calls.ts'
import { bind } from '../../http/bind.ts'
import { pageOf } from '../../http/page.ts'
import { timeRangeOf } from '../../http/time-range.ts'
import type { McpCallStore } from './store.ts'

/** Serves the log of calls. Only admins without an owner see the calls of others. */
export function serveMcpCalls(app: FastifyInstance, { calls }: { readonly calls: Pick<McpCallStore, 'list'> }): void {
  bind(app, mcpCallRoutes.list, async ({ query }, { role, ownerScope, principal }) => {
    const { limit, cursor, from: _from, to: _to, ...equal } = query
    const isForAll = role === 'admin' && ownerScope === undefined
    const filter = { ...equal, ...timeRangeOf(query), ...(!isForAll && { principal }) }
    const page = { ...(limit !== undefined && { limit }), ...(cursor !== undefined && { cursor }) }
    const { items, next_cursor } = await pageOf(
      page,
      next => calls.list(filter, next),
      ({ place }) => place,
    )
    return { calls: items.map(({ call }) => call), next_cursor }
  })
}
