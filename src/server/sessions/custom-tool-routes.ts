import type { FastifyInstance } from 'fastify'
import { customToolRoutes } from '../../contract/custom-tools.ts'
import { bind } from '../http/bind.ts'
import { pageOf } from '../http/page.ts'
import type { CustomToolCalls } from './waits/custom-tool-calls.ts'

/** Serves the routes of custom tool calls: list and answer. A scoped caller sees those of its owner's sessions. */
export function serveCustomTools(
  app: FastifyInstance,
  { customToolCalls }: { customToolCalls: CustomToolCalls },
): void {
  bind(app, customToolRoutes.list, async ({ query }, caller) => {
    const filter = { sessionId: query.session_id, state: query.state }
    const { items, next_cursor } = await pageOf(
      query,
      page => customToolCalls.list(filter, caller, page),
      ({ id }) => id,
    )
    return { custom_tool_calls: items, next_cursor }
  })
  bind(app, customToolRoutes.answer, ({ params, body }, caller) =>
    customToolCalls.answer({ id: params.custom_tool_use_id, ...body }, caller),
  )
}
