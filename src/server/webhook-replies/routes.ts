import type { FastifyInstance } from 'fastify'
import { webhookReplyRoutes } from '../../contract/webhook-replies.ts'
import { bind } from '../http/bind.ts'
import { pageOf } from '../http/page.ts'
import type { WebhookReplies } from './replies.ts'

/** Serves the log of replies. A scoped caller sees those of its owner. */
export function serveWebhookReplies(
  app: FastifyInstance,
  { replies }: { replies: Pick<WebhookReplies, 'list'> },
): void {
  bind(app, webhookReplyRoutes.list, async ({ query }, caller) => {
    const filter = { agentId: query.agent_id, sessionId: query.session_id, state: query.state }
    const { items, next_cursor } = await pageOf(
      query,
      page => replies.list(filter, caller, page),
      ({ id }) => id,
    )
    return { replies: items, next_cursor }
  })
}
