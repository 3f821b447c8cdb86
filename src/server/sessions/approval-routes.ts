import type { FastifyInstance } from 'fastify'
import { approvalRoutes } from '../../contract/approvals.ts'
import { bind } from '../http/bind.ts'
import { pageOf } from '../http/page.ts'
import type { Approvals } from './waits/approvals.ts'

/** Serves the approval routes: list and decide. A scoped caller sees the approvals of its owner's sessions. */
export function serveApprovals(app: FastifyInstance, { approvals }: { approvals: Approvals }): void {
  bind(app, approvalRoutes.list, async ({ query }, caller) => {
    const { session_id: sessionId, agent_id: agentId, state, is_open: isOpen, order = 'desc' } = query
    const filter = { sessionId, agentId, state, isOpen, order }
    const { items, next_cursor } = await pageOf(
      query,
      page => approvals.list(filter, caller, page),
      ({ id }) => id,
    )
    return { approvals: items, next_cursor }
  })
  bind(app, approvalRoutes.decide, ({ params, body }, caller) =>
    approvals.decide({ id: params.approval_id, ...body }, caller),
  )
}
