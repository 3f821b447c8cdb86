import { type Static, Type } from 'typebox'
import { named } from './named.ts'
import { route } from './route.ts'
import { NextCursor, Nullable, pageQuery, rangeQuery } from './schemas.ts'

/** Bodies of webhooks, in bytes. Gaps: section 1, rule 8. */
export const maxWebhookBytes = 25 * 1024 * 1024

/** The name of a vault entry. Each line of its value is a secret, and all of them count. */
const SecretName = Type.String({
  minLength: 1,
  maxLength: 200,
  pattern: '\\S',
  description: 'Name of a vault entry; each line of its value is a live secret',
})
const HeaderName = Type.String({ pattern: '^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$', description: 'Name of a header' })

/** Steps from the payload to one of its values: names and numbers with dots between them. */
export const fieldPathPattern = '[A-Za-z0-9_@$-]+(?:[.][A-Za-z0-9_@$-]+){0,31}'
const FieldPath = Type.String({
  maxLength: 500,
  pattern: `^${fieldPathPattern}$`,
  description: 'A field of the payload, such as `issue.labels.0.name`',
})

/** How the sender signs the raw body. Gaps: section 11, rule 3; the fields behind `mode` are for `custom`. */
export const WebhookSignature = named(
  'WebhookSignature',
  Type.Object(
    {
      preset: Type.Union([
        Type.Literal('github'),
        Type.Literal('standard-webhooks'),
        Type.Literal('slack'),
        Type.Literal('stripe'),
        Type.Literal('custom'),
      ]),
      secret_key: SecretName,
      mode: Type.Optional(
        Type.Union([Type.Literal('also'), Type.Literal('instead')], {
          description: '`also` (default): beside the bearer token; `instead`: for senders that cannot send one',
        }),
      ),
      header: Type.Optional(HeaderName),
      prefix: Type.Optional(Type.String({ maxLength: 50, description: 'Before the signature, such as `sha256=`' })),
      algorithm: Type.Optional(Type.Union([Type.Literal('sha256'), Type.Literal('sha512'), Type.Literal('sha1')])),
      encoding: Type.Optional(Type.Union([Type.Literal('hex'), Type.Literal('base64')])),
      timestamp_header: Type.Optional(HeaderName),
      separator: Type.Optional(
        Type.String({ maxLength: 5, description: 'Between time and body in what is signed; `.` unless given' }),
      ),
      dedupe: Type.Optional(
        Type.Union([Type.Literal('body'), Type.Literal('none')], {
          description:
            'For signatures that cover no time: `body` accepts an equal body once in 7 days, whatever its delivery id; ' +
            'default `body` for `github`, `none` for `custom`',
        }),
      ),
    },
    {
      allOf: [
        { if: { properties: { preset: { not: { const: 'custom' } } } }, else: { required: ['header'] } },
        // A signature that covers a time is always accepted once, so the choice would have no effect.
        { if: { properties: { preset: { enum: ['github', 'custom'] } } }, else: { properties: { dedupe: false } } },
        { if: { not: { required: ['timestamp_header'] } }, else: { properties: { dedupe: false } } },
      ],
    },
  ),
)
export type WebhookSignature = Static<typeof WebhookSignature>

const Scalar = Type.Union([Type.String({ maxLength: 1_000 }), Type.Number(), Type.Boolean(), Type.Null()])
const comparison = {
  in: Type.Optional(Type.Array(Scalar, { minItems: 1, maxItems: 200 })),
  not_in: Type.Optional(Type.Array(Scalar, { minItems: 1, maxItems: 200 })),
  exists: Type.Optional(Type.Boolean()),
}

/** A condition on a delivery: the name of an event, or what a header or a field of the payload must be. */
export const WebhookCondition = named(
  'WebhookCondition',
  Type.Union([
    Type.String({ minLength: 1, maxLength: 200, description: 'An event, such as `issues` or `issues.opened`' }),
    Type.Object({ header: HeaderName, ...comparison }),
    Type.Object({ field: FieldPath, ...comparison }),
  ]),
)
export type WebhookCondition = Static<typeof WebhookCondition>

export const conversationPresets = ['github-issue', 'gitlab-issue', 'linear-issue', 'slack-thread'] as const

/** `config.webhook` of an agent. Interface: Agent, `secret_key`; Gaps: section 11; the other fields are our choice. */
export const WebhookConfig = named(
  'WebhookConfig',
  Type.Object({
    secret_key: Type.Optional(SecretName),
    signature: Type.Optional(Nullable(WebhookSignature)),
    delivery_id_header: Type.Optional(Nullable(HeaderName)),
    events: Type.Optional(Nullable(Type.Array(WebhookCondition, { maxItems: 100 }))),
    template: Type.Optional(
      Nullable(
        Type.String({ maxLength: 100_000, description: 'The message, with `{{path.to.field}}` of the payload' }),
      ),
    ),
    conversation: Type.Optional(
      Nullable(
        Type.String({
          maxLength: 1_000,
          description: `Deliveries with the same value continue in one session: a field, a text with {{fields}}, or ${conversationPresets.join(', ')}`,
        }),
      ),
    ),
    rpm_limit: Type.Optional(
      Nullable(Type.Integer({ minimum: 1, maximum: 1_000_000, description: 'Deliveries a minute; more are 429' })),
    ),
  }),
)
export type WebhookConfig = Static<typeof WebhookConfig>

/** What a sender is told. Interface: Webhook acceptance record. */
export const WebhookAcceptance = named(
  'WebhookAcceptance',
  Type.Object({
    status: Type.Union([Type.Literal('accepted'), Type.Literal('duplicate'), Type.Literal('processing')]),
    agent_id: Type.String(),
    session_id: Type.String({ description: 'Empty while another delivery is running, or when a filter left it out' }),
    request_id: Type.String({ description: 'The delivery id' }),
  }),
)
export type WebhookAcceptance = Static<typeof WebhookAcceptance>

export const DeliveryStatus = named(
  'DeliveryStatus',
  Type.Union([Type.Literal('processing'), Type.Literal('accepted'), Type.Literal('skipped'), Type.Literal('failed')]),
)
export type DeliveryStatus = Static<typeof DeliveryStatus>

const delivery = {
  id: Type.String(),
  agent_id: Type.String(),
  request_id: Type.String({ description: 'The delivery id' }),
  kind: Type.Union([Type.Literal('webhook'), Type.Literal('replay'), Type.Literal('test')]),
  replay_of: Nullable(Type.String({ description: 'The delivery that was sent again' })),
  status: DeliveryStatus,
  session_id: Type.String(),
  prompt_id: Nullable(Type.String()),
  event: Nullable(Type.String({ description: 'Name of the event, where the sender gives one' })),
  headers: Type.Record(Type.String(), Type.String(), { description: 'Those that hold no secret' }),
  payload_bytes: Type.Integer(),
  attempts: Type.Integer({ description: 'How often it was begun' }),
  error: Nullable(Type.String()),
  received_at: Type.String({ format: 'date-time' }),
  finished_at: Nullable(Type.String({ format: 'date-time' })),
}

/** One line of the delivery log. */
export const Delivery = named('Delivery', Type.Object(delivery))
export type Delivery = Static<typeof Delivery>

/** A delivery with its payload as text; null when it was not kept. */
export const DeliveryDetail = named('DeliveryDetail', Type.Object({ ...delivery, payload: Nullable(Type.String()) }))
export type DeliveryDetail = Static<typeof DeliveryDetail>

/** What a delivery would do. */
export const DeliveryPreview = named(
  'DeliveryPreview',
  Type.Object({
    outcome: Type.Union([Type.Literal('accepted'), Type.Literal('skipped')]),
    reason: Nullable(Type.String({ description: 'The condition that does not hold' })),
    event: Nullable(Type.String()),
    message: Type.String(),
    conversation: Nullable(Type.String()),
  }),
)
export type DeliveryPreview = Static<typeof DeliveryPreview>

const example = {
  payload: Type.Unknown({ description: 'Any JSON value' }),
  headers: Type.Optional(
    Type.Record(Type.String(), Type.String({ maxLength: 2_000 }), { description: 'As the sender would set them' }),
  ),
}
const DeliveryExample = named('DeliveryExample', Type.Object(example))
export type DeliveryExample = Static<typeof DeliveryExample>

const DeliverySend = named(
  'DeliverySend',
  Type.Object({ agent_id: Type.String({ minLength: 1, maxLength: 200 }), ...example }),
)

const AgentPath = Type.Object({ agent_id: Type.String() })
const DeliveryPath = Type.Object({ delivery_id: Type.String() })
const Filter = Type.Optional(Type.String({ minLength: 1, maxLength: 255 }))
const base = { access: 'key', errorShape: 'nested' } as const

export const webhookRoutes = {
  receive: route({
    id: 'webhooks.receive',
    method: 'POST',
    path: '/api/agents/{agent_id}/webhook',
    access: 'webhook',
    errorShape: 'nested',
    params: AgentPath,
    body: Type.Unknown({ description: 'Any JSON value' }),
    bodyLimit: maxWebhookBytes,
    responses: { 202: WebhookAcceptance, 503: WebhookAcceptance },
    summary: 'Receive a webhook',
    description:
      'Verifies and filters a request of another program, renders the template and starts a session with it. A repeated delivery id answers like the first one and starts nothing.',
  }),
  list: route({
    ...base,
    id: 'deliveries.list',
    method: 'GET',
    path: '/api/deliveries',
    query: Type.Object({
      ...pageQuery,
      ...rangeQuery,
      agent_id: Filter,
      session_id: Filter,
      request_id: Filter,
      status: Type.Optional(DeliveryStatus),
    }),
    responses: { 200: Type.Object({ deliveries: Type.Array(Delivery), next_cursor: NextCursor }) },
    summary: 'List webhook deliveries',
    description: 'Lists the stored deliveries (seven days by default), newest first.',
  }),
  send: route({
    ...base,
    id: 'deliveries.send',
    method: 'POST',
    path: '/api/deliveries',
    body: DeliverySend,
    responses: { 201: Delivery },
    summary: 'Send a test delivery',
    description: 'Sends a delivery to an agent as if another program had sent it.',
  }),
  preview: route({
    ...base,
    id: 'webhooks.preview',
    method: 'POST',
    path: '/api/agents/{agent_id}/webhook/preview',
    params: AgentPath,
    body: DeliveryExample,
    responses: { 200: DeliveryPreview },
    summary: 'Preview a webhook delivery',
    description: 'Shows what a delivery would do (filter result, rendered prompt) without starting a session.',
  }),
  get: route({
    ...base,
    id: 'deliveries.get',
    method: 'GET',
    path: '/api/deliveries/{delivery_id}',
    params: DeliveryPath,
    responses: { 200: DeliveryDetail },
    summary: 'Read a webhook delivery',
    description: 'Returns one delivery with its payload and its result.',
  }),
  replay: route({
    ...base,
    id: 'deliveries.replay',
    method: 'POST',
    path: '/api/deliveries/{delivery_id}/replay',
    params: DeliveryPath,
    responses: { 201: Delivery },
    summary: 'Replay a webhook delivery',
    description: 'Delivers a stored payload again as a new delivery.',
  }),
}
