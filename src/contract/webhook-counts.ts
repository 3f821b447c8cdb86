import { type Static, Type } from 'typebox'
import { named } from './named.ts'
import { route } from './route.ts'
import { rangeQuery } from './schemas.ts'

const Kind = Type.Union(
  [
    Type.Literal('invalid_token'),
    Type.Literal('invalid_signature'),
    Type.Literal('rate_limited'),
    Type.Literal('duplicate'),
  ],
  { description: '`rate_limited`: more than `config.webhook.rpm_limit`; `duplicate`: the id was delivered before' },
)
export type WebhookCountKind = Static<typeof Kind>

/** Requests of senders that the log of deliveries does not have. */
export const WebhookCount = named(
  'WebhookCount',
  Type.Object({
    agent_id: Type.String(),
    kind: Kind,
    count: Type.Integer(),
    last_at: Type.String({ format: 'date-time' }),
  }),
)
export type WebhookCount = Static<typeof WebhookCount>

export const webhookCountRoutes = {
  list: route({
    id: 'webhook_counts.list',
    method: 'GET',
    path: '/api/deliveries/counts',
    access: 'key',
    errorShape: 'nested',
    query: Type.Object({
      ...rangeQuery,
      agent_id: Type.Optional(Type.String({ minLength: 1, maxLength: 200 })),
    }),
    responses: { 200: Type.Object({ counts: Type.Array(WebhookCount, { description: 'At most 1,000' }) }) },
    summary: 'Count deliveries that are not in the log',
    description:
      'Counts requests to webhooks of existing agents that were refused for their token, signature or rate, and repeated ones, per agent, the most frequent first. They are counted per hour, so `from` (7 days ago by default) and `to` apply to whole hours.',
  }),
}
