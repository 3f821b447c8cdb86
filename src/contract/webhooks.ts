import { type Static, Type } from 'typebox'
import { named } from './named.ts'
import { route } from './route.ts'
import { NextCursor, Nullable, pageQuery, rangeQuery } from './schemas.ts'
import { conversationPresets } from './webhook-presets.ts'

/** Bodies of webhooks, in bytes. Gaps: section 1, rule 8. */
export const maxWebhookBytes = 25 * 1024 * 1024

/** Name of a vault entry. Each line of its value is a valid secret. */
const SecretName = Type.String({
  minLength: 1,
  maxLength: 200,
  pattern: '\\S',
  description: 'Name of a vault entry; each line of its value is a valid secret',
})
const HeaderName = Type.String({ pattern: '^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$', description: 'Name of a header' })

/** Path to a value of the payload: names and numbers separated by dots. */
export const fieldPathPattern = '[A-Za-z0-9_@$-]+(?:[.][A-Za-z0-9_@$-]+){0,31}'
const FieldPath = Type.String({
  maxLength: 500,
  pattern: `^${fieldPathPattern}$`,
  description: 'A field of the payload, such as `issue.labels.0.name`',
})

/** Signature of the sender over the raw body. Gaps: section 11, rule 3. The fields after `mode` are for `custom`. */
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
          description: '`also` (default): in addition to the bearer token; `instead`: for senders that cannot send one',
        }),
      ),
      header: Type.Optional(HeaderName),
      prefix: Type.Optional(Type.String({ maxLength: 50, description: 'Prefix of the signature, such as `sha256=`' })),
      algorithm: Type.Optional(Type.Union([Type.Literal('sha256'), Type.Literal('sha512'), Type.Literal('sha1')])),
      encoding: Type.Optional(Type.Union([Type.Literal('hex'), Type.Literal('base64')])),
      timestamp_header: Type.Optional(HeaderName),
      separator: Type.Optional(
        Type.String({
          maxLength: 5,
          description: 'Separator between time and body in the signed text; `.` by default',
        }),
      ),
      dedupe: Type.Optional(
        Type.Union([Type.Literal('body'), Type.Literal('none')], {
          description:
            'For signatures that do not cover a time: `body` accepts an equal body once in 7 days, whatever its delivery id; ' +
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

/** Condition on a delivery: the name of an event, or the value of a header or a field of the payload. */
export const WebhookCondition = named(
  'WebhookCondition',
  Type.Union([
    Type.String({ minLength: 1, maxLength: 200, description: 'An event, such as `issues` or `issues.opened`' }),
    Type.Object({ header: HeaderName, ...comparison }),
    Type.Object({ field: FieldPath, ...comparison }),
  ]),
)
export type WebhookCondition = Static<typeof WebhookCondition>

export const WebhookReplyType = named(
  'WebhookReplyType',
  Type.Union([Type.Literal('github_comment'), Type.Literal('slack_thread'), Type.Literal('callback')]),
)
export type WebhookReplyType = Static<typeof WebhookReplyType>

/** Where the answer of a session goes that a delivery has started. */
export const WebhookReplySettings = named(
  'WebhookReplySettings',
  Type.Object(
    {
      type: Type.Optional(WebhookReplyType),
      secret_key: SecretName,
      url: Type.Optional(
        Type.String({
          maxLength: 2_000,
          pattern: '^https?://[^\\s?#]+$',
          description:
            'With `callback`: the receiver. Otherwise the base URL of the API, for GitHub Enterprise; its host must be in `outbound.allow`',
        }),
      ),
    },
    {
      allOf: [{ if: { properties: { type: { not: { const: 'callback' } } } }, else: { required: ['url'] } }],
    },
  ),
)
export type WebhookReplySettings = Static<typeof WebhookReplySettings>

const short = (description: string) => Type.Optional(Type.String({ minLength: 1, maxLength: 2_000, description }))

/** Repository of the sessions that a webhook starts, as in `environment` of a session. Our choice. */
const WebhookEnvironment = named(
  'WebhookEnvironment',
  Type.Object(
    {
      repository: short('URL of the repository that the sessions work on'),
      ref: short('Branch, tag or commit to start from; the default branch without it'),
      auto_create_pr: Type.Optional(Type.Boolean({ description: 'True: pushes the work and opens a pull request' })),
      submodules: Type.Optional(Type.Boolean()),
      commit_author: Type.Optional(Type.Object({ name: Type.String(), email: Type.String() })),
    },
    { additionalProperties: false },
  ),
)

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
        Type.String({
          maxLength: 100_000,
          description: 'Template of the message, with `{{path.to.field}}` of the payload',
        }),
      ),
    ),
    title: Type.Optional(
      Nullable(
        Type.String({
          maxLength: 1_000,
          description:
            'Template of the title of new sessions, cut to 120 characters; `Webhook <delivery id>` when it is empty',
        }),
      ),
    ),
    environment: Type.Optional(
      Nullable(WebhookEnvironment, '`environment` of new sessions: the repository that they work on'),
    ),
    conversation: Type.Optional(
      Nullable(
        Type.String({
          maxLength: 1_000,
          description: `Deliveries with the same value continue in one session: a field, a text with {{fields}}, or ${conversationPresets.join(', ')}`,
        }),
      ),
    ),
    files: Type.Optional(
      Nullable(
        Type.Object({
          each: Type.Optional(FieldPath),
          data: FieldPath,
          name: Type.Optional(FieldPath),
          media_type: Type.Optional(FieldPath),
        }),
        'Files in the payload: `data` is the field with the content in base64. With `each`, a list, the other fields are those of its items',
      ),
    ),
    rpm_limit: Type.Optional(
      Nullable(Type.Integer({ minimum: 1, maximum: 1_000_000, description: 'Deliveries per minute; others get 429' })),
    ),
    reply: Type.Optional(
      Nullable(
        WebhookReplySettings,
        'Posts the answer of the session. `type` may be absent with the signature presets `github` and `slack`',
      ),
    ),
  }),
)
export type WebhookConfig = Static<typeof WebhookConfig>

/** Response to a sender. Interface: Webhook acceptance record. */
export const WebhookAcceptance = named(
  'WebhookAcceptance',
  Type.Object({
    status: Type.Union([Type.Literal('accepted'), Type.Literal('duplicate'), Type.Literal('processing')]),
    agent_id: Type.String(),
    session_id: Type.String({
      description: 'Empty while another delivery is running, or when the filter does not match',
    }),
    request_id: Type.String({ description: 'Delivery id' }),
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
  request_id: Type.String({ description: 'Delivery id' }),
  kind: Type.Union([Type.Literal('webhook'), Type.Literal('replay'), Type.Literal('test')]),
  replay_of: Nullable(Type.String({ description: 'Delivery that was replayed' })),
  status: DeliveryStatus,
  session_id: Type.String(),
  prompt_id: Nullable(Type.String()),
  event: Nullable(Type.String({ description: 'Name of the event, if the sender gives one' })),
  headers: Type.Record(Type.String(), Type.String(), { description: 'Headers that contain no secret' }),
  payload_bytes: Type.Integer(),
  attempts: Type.Integer({ description: 'Number of attempts' }),
  error: Nullable(Type.String()),
  received_at: Type.String({ format: 'date-time' }),
  finished_at: Nullable(Type.String({ format: 'date-time' })),
}

/** Entry of the delivery log. */
export const Delivery = named('Delivery', Type.Object(delivery))
export type Delivery = Static<typeof Delivery>

/** Delivery with its payload as text; null when it was not stored. */
export const DeliveryDetail = named('DeliveryDetail', Type.Object({ ...delivery, payload: Nullable(Type.String()) }))
export type DeliveryDetail = Static<typeof DeliveryDetail>

/** Effect that a delivery would have. */
export const DeliveryPreview = named(
  'DeliveryPreview',
  Type.Object({
    outcome: Type.Union([Type.Literal('accepted'), Type.Literal('skipped')]),
    reason: Nullable(Type.String({ description: 'Condition that does not match' })),
    event: Nullable(Type.String()),
    message: Type.String(),
    conversation: Nullable(Type.String()),
  }),
)
export type DeliveryPreview = Static<typeof DeliveryPreview>

const example = {
  payload: Type.Unknown({ description: 'Any JSON value' }),
  headers: Type.Optional(
    Type.Record(Type.String(), Type.String({ maxLength: 2_000 }), { description: 'Headers of the sender' }),
  ),
}
const DeliveryExample = named('DeliveryExample', Type.Object(example))
export type DeliveryExample = Static<typeof DeliveryExample>

const PreviewRequest = named(
  'WebhookPreviewRequest',
  Type.Object({
    ...example,
    settings: Type.Optional({ ...WebhookConfig, description: 'Used instead of the stored `config.webhook`' }),
  }),
)
export type PreviewRequest = Static<typeof PreviewRequest>

const DeliverySend = named(
  'DeliverySend',
  Type.Object({ agent_id: Type.String({ minLength: 1, maxLength: 200 }), ...example }),
)

/** Result of one check of the intake. */
export const WebhookCheckItem = named(
  'WebhookCheckItem',
  Type.Object({
    check: Type.Union([
      Type.Literal('agent'),
      Type.Literal('token'),
      Type.Literal('signature'),
      Type.Literal('id'),
      Type.Literal('body'),
    ]),
    outcome: Type.Union([Type.Literal('passed'), Type.Literal('failed'), Type.Literal('skipped')]),
    message: Type.String(),
  }),
)
export type WebhookCheckItem = Static<typeof WebhookCheckItem>

/** Result of a test of a webhook. */
export const WebhookCheck = named(
  'WebhookCheck',
  Type.Object({
    ok: Type.Boolean({ description: 'No check failed' }),
    checks: Type.Array(WebhookCheckItem, { description: 'In the order of the intake' }),
    preview: Nullable(DeliveryPreview),
    delivery: Nullable(Delivery, 'Log entry of the delivery with `run_agent`, if no check failed'),
  }),
)
export type WebhookCheck = Static<typeof WebhookCheck>

const WebhookTest = named(
  'WebhookTest',
  Type.Object({
    ...example,
    run_agent: Type.Optional(
      Type.Boolean({ default: false, description: 'True: also delivers it, as `POST /api/deliveries` does' }),
    ),
  }),
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
    otherResponses: {
      200: Type.Object({
        challenge: Type.String({ description: 'That of a sender which verifies the address, such as Slack' }),
      }),
    },
    summary: 'Receive a webhook',
    description:
      'Verifies and filters a request of another program, renders the template and starts a session with it. A repeated delivery id gets the first response again and starts nothing.',
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
    description: 'Sends a delivery to an agent in the place of another program.',
  }),
  preview: route({
    ...base,
    id: 'webhooks.preview',
    method: 'POST',
    path: '/api/agents/{agent_id}/webhook/preview',
    params: AgentPath,
    body: PreviewRequest,
    responses: { 200: DeliveryPreview },
    summary: 'Preview a webhook delivery',
    description:
      'Shows what a delivery would do (filter result, rendered prompt) without starting a session. `settings` shows it for settings that are not stored yet.',
  }),
  check: route({
    ...base,
    id: 'webhooks.check',
    method: 'POST',
    path: '/api/agents/{agent_id}/webhook/check',
    params: AgentPath,
    body: WebhookTest,
    responses: { 200: WebhookCheck },
    summary: 'Test a webhook',
    description:
      'Sends a payload through the checks of the intake and returns the outcome of each. The service signs in the place of the sender, with the stored secrets. Starts no session and logs nothing without `run_agent`. Answers 400 for headers with credentials.',
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
