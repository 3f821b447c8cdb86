import { type Static, Type } from 'typebox'
import { named } from './named.ts'
import { route } from './route.ts'
import { NextCursor, Nullable, pageQuery } from './schemas.ts'
import { WebhookReplyType } from './webhooks.ts'

export const WebhookReplyState = named(
  'WebhookReplyState',
  Type.Union([Type.Literal('pending'), Type.Literal('delivered'), Type.Literal('failed'), Type.Literal('skipped')]),
)

/** Entry of the log of replies: what was posted for a webhook delivery, and where. */
export const WebhookReply = named(
  'WebhookReply',
  Type.Object({
    id: Type.String({ description: 'The receiver gets it with the reply' }),
    agent_id: Type.String(),
    session_id: Type.String(),
    prompt_id: Type.String(),
    delivery_id: Type.String({ description: 'Entry of the log of deliveries' }),
    type: WebhookReplyType,
    target: Type.Record(Type.String(), Type.Unknown(), { description: 'Issue, thread or URL' }),
    kind: Type.Union([Type.Literal('answer'), Type.Literal('failure'), Type.Literal('approval')]),
    state: WebhookReplyState,
    attempts: Type.Integer(),
    http_status: Nullable(Type.Integer({ description: 'Status of the last response of the receiver' })),
    error: Nullable(Type.String()),
    external_id: Nullable(Type.String({ description: 'Id of the comment or message at the receiver' })),
    next_attempt_at: Nullable(Type.String({ format: 'date-time' })),
    created_at: Type.String({ format: 'date-time' }),
    finished_at: Nullable(Type.String({ format: 'date-time' })),
  }),
)
export type WebhookReply = Static<typeof WebhookReply>

const Filter = Type.Optional(Type.String({ minLength: 1, maxLength: 255 }))

export const webhookReplyRoutes = {
  list: route({
    id: 'webhook_replies.list',
    method: 'GET',
    path: '/api/webhook-replies',
    access: 'key',
    errorShape: 'nested',
    query: Type.Object({
      ...pageQuery,
      agent_id: Filter,
      session_id: Filter,
      state: Type.Optional(WebhookReplyState),
    }),
    responses: { 200: Type.Object({ replies: Type.Array(WebhookReply), next_cursor: NextCursor }) },
    summary: 'List replies to webhook deliveries',
    description:
      'Lists what the service posted, or will post, to the issue, thread or URL of a delivery (`config.webhook.reply`), newest first.',
  }),
}
