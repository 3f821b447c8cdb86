import type { FastifyInstance } from 'fastify'
import { mcpCallRoutes } from '../../../contract/mcp-calls.ts'
import { bind } from '../../http/bind.ts'
import type { Caller } from '../../http/caller.ts'
import { pageOf } from '../../http/page.ts'
import { timeRangeOf } from '../../http/time-range.ts'
import type { McpCallStore } from './store.ts'

interface Deps {
  readonly calls: Pick<McpCallStore, 'list' | 'totals'>
}

/** Serves the log of calls. Only admins without an owner see the calls of others. */
export function serveMcpCalls(app: FastifyInstance, { calls }: Deps): void {
  bind(app, mcpCallRoutes.list, async ({ query }, caller) => {
    const { limit, cursor, from: _from, to: _to, ...equal } = query
    const filter = { ...equal, ...timeRangeOf(query), ...ownCallsOf(caller) }
    const page = { ...(limit !== undefined && { limit }), ...(cursor !== undefined && { cursor }) }
    const { items, next_cursor } = await pageOf(
      page,
      next => calls.list(filter, next),
      ({ place }) => place,
    )
    return { calls: items.map(({ call }) => call), next_cursor }
  })

  bind(app, mcpCallRoutes.totals, async ({ query }, caller) => {
    const { from = new Date(Date.now() - periodMs), to } = timeRangeOf(query)
    const { server } = query
    return { servers: await calls.totals({ ...(server !== undefined && { server }), from, to, ...ownCallsOf(caller) }) }
  })
}

const periodMs = 7 * 24 * 3_600_000

const ownCallsOf = ({ role, ownerScope, principal }: Caller): { readonly principal?: string } =>
  role === 'admin' && ownerScope === undefined ? {} : { principal }
