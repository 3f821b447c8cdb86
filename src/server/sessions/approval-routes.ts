import type { FastifyInstance } from 'fastify'
import { approvalRoutes } from '../../contract/approvals.ts'
import { bind } from '../http/bind.ts'
import { pageOf } from '../http/page.ts'
import type { Approvals } from './waits/approvals.ts'

/** Serves the approval routes: list and decide. A scoped caller sees the approvals of its owner's sessions. */
export function serveApprovals(app: FastifyInstance, { approvals }: { approvals: Approvals }): void {
  bind(app, approvalRoutes.list, async ({ query }, caller) => {
    const filter = { sessionId: query.session_id, state: query.state }
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
