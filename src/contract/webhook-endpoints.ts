import { type Static, Type } from 'typebox'
import { named } from './named.ts'
import { route } from './route.ts'
import { NextCursor, Nullable, pageQuery } from './schemas.ts'

const Time = Type.String({ format: 'date-time' })

const Url = Type.String({
  minLength: 1,
  maxLength: 2_000,
  description: 'Address with https; it must be public unless outbound.allow lists it',
})
const Events = Type.Array(Type.String({ maxLength: 100, pattern: '^([a-z][a-z0-9_]*[.])*([a-z][a-z0-9_]*|[*])$' }), {
  maxItems: 50,
  description: 'Event types such as `session.status_idle`, or `session.*`; empty: all',
})
const AgentIds = Type.Array(Type.String({ minLength: 1, maxLength: 200 }), {
  maxItems: 100,
  description: 'Only sessions of these agents; empty: all',
})
const Description = Nullable(Type.String({ maxLength: 1_000 }))

/** Receiver of session events. Only the requests that create and rotate its secret return the secret. */
export const WebhookEndpoint = named(
  'WebhookEndpoint',
  Type.Object({
    id: Type.String(),
    owner_id: Nullable(Type.String({ description: 'Owner whose sessions it receives events of; null: all owners' })),
    url: Type.String(),
    description: Nullable(Type.String()),
    events: Type.Array(Type.String()),
    agent_ids: Type.Array(Type.String()),
    status: Type.Union([Type.Literal('active'), Type.Literal('paused'), Type.Literal('disabled')]),
    disabled_reason: Nullable(Type.String()),
    run_as_key_id: Nullable(
      Type.String({
        description:
          'Key that set it up: the last key that changed `url`, `events` or `agent_ids`; revoking the key disables the endpoint. null when the master key or an unlimited admin key changed them',
      }),
    ),
    failing_since: Nullable(Time),
    created_at: Time,
    updated_at: Time,
  }),
)
export type WebhookEndpoint = Static<typeof WebhookEndpoint>

const ShownEndpoint = named(
  'ShownWebhookEndpoint',
  Type.Object({
    ...WebhookEndpoint.properties,
    secret: Type.String({ description: '`whsec_…`; no other response contains it' }),
  }),
)
export type ShownEndpoint = Static<typeof ShownEndpoint>

const optional = {
  description: Type.Optional(Description),
  events: Type.Optional(Events),
  agent_ids: Type.Optional(AgentIds),
  status: Type.Optional(
    Type.Union([Type.Literal('active'), Type.Literal('paused')], {
      description: 'Events of the time in which it was paused or disabled are sent once it is active again',
    }),
  ),
}
const EndpointCreate = named(
  'WebhookEndpointCreate',
  Type.Object({
    url: Url,
    owner_id: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 200,
        description:
          'Owner whose sessions it receives events of; that of the key by default. A key that has no owner and is not an admin must give `owner_id` or `agent_ids`',
      }),
    ),
    ...optional,
  }),
)
export type EndpointCreate = Static<typeof EndpointCreate>

const EndpointUpdate = named('WebhookEndpointUpdate', Type.Object({ url: Type.Optional(Url), ...optional }))
export type EndpointUpdate = Static<typeof EndpointUpdate>

/** Delivery of one event. Of the receiver's response it has only the status. */
export const EndpointDelivery = named(
  'WebhookEndpointDelivery',
  Type.Object({
    id: Type.String(),
    endpoint_id: Type.String(),
    session_id: Type.String(),
    seq: Type.Integer(),
    event_id: Type.String({ description: '`webhook-id`, the same in every attempt' }),
    event_type: Type.String(),
    state: Type.Union([Type.Literal('pending'), Type.Literal('delivered'), Type.Literal('dead')]),
    attempts: Type.Integer(),
    http_status: Nullable(Type.Integer()),
    error: Nullable(Type.String()),
    duration_ms: Type.Integer(),
    next_attempt_at: Nullable(Time),
    created_at: Time,
    finished_at: Nullable(Time),
  }),
)
export type EndpointDelivery = Static<typeof EndpointDelivery>

const TestResult = named(
  'WebhookEndpointTest',
  Type.Object({
    ok: Type.Boolean(),
    http_status: Nullable(Type.Integer()),
    error: Nullable(Type.String()),
    duration_ms: Type.Integer(),
  }),
)
export type EndpointTestResult = Static<typeof TestResult>

const EndpointPath = Type.Object({ endpoint_id: Type.String() })
const DeliveryPath = Type.Object({ endpoint_id: Type.String(), delivery_id: Type.String() })
const base = { access: 'key', errorShape: 'nested' } as const
const one = '/api/webhook-endpoints/{endpoint_id}'

export const webhookEndpointRoutes = {
  list: route({
    ...base,
    id: 'webhook_endpoints.list',
    method: 'GET',
    path: '/api/webhook-endpoints',
    query: Type.Object({ ...pageQuery }),
    responses: { 200: Type.Object({ endpoints: Type.Array(WebhookEndpoint), next_cursor: NextCursor }) },
    summary: 'List webhook endpoints',
    description: 'Lists the receivers of session events, newest first.',
  }),
  create: route({
    ...base,
    id: 'webhook_endpoints.create',
    method: 'POST',
    path: '/api/webhook-endpoints',
    body: EndpointCreate,
    responses: { 201: ShownEndpoint },
    summary: 'Create a webhook endpoint',
    description:
      'Sends session events to an address, signed as Standard Webhooks defines. The secret is shown once. Accepts `Idempotency-Key`.',
  }),
  get: route({
    ...base,
    id: 'webhook_endpoints.get',
    method: 'GET',
    path: one,
    params: EndpointPath,
    responses: { 200: WebhookEndpoint },
    summary: 'Read a webhook endpoint',
    description: 'Returns one receiver with its state.',
  }),
  update: route({
    ...base,
    id: 'webhook_endpoints.update',
    method: 'PATCH',
    path: one,
    params: EndpointPath,
    body: EndpointUpdate,
    responses: { 200: WebhookEndpoint },
    summary: 'Update a webhook endpoint',
    description: 'Changes, pauses or enables a receiver. Absent fields stay unchanged.',
  }),
  remove: route({
    ...base,
    id: 'webhook_endpoints.remove',
    method: 'DELETE',
    path: one,
    params: EndpointPath,
    responses: { 200: Type.Object({ ok: Type.Literal(true) }) },
    summary: 'Delete a webhook endpoint',
    description: 'Deletes a receiver with its deliveries.',
  }),
  rotate: route({
    ...base,
    id: 'webhook_endpoints.rotate',
    method: 'POST',
    path: `${one}/rotate`,
    params: EndpointPath,
    body: Type.Object({
      grace: Type.Optional(
        Type.String({
          pattern: '^(0|[1-9][0-9]{0,3})(s|m|h|d)$',
          description: 'Time during which the old secret signs too; `24h` by default, `0s` ends it now',
        }),
      ),
    }),
    bodyOptional: true,
    responses: { 200: ShownEndpoint },
    summary: 'Rotate the secret of a webhook endpoint',
    description:
      'Creates a new secret. During the grace period deliveries carry a signature of both secrets. Accepts `Idempotency-Key`.',
  }),
  test: route({
    ...base,
    id: 'webhook_endpoints.test',
    method: 'POST',
    path: `${one}/test`,
    params: EndpointPath,
    responses: { 200: TestResult },
    summary: 'Send a test event',
    description: 'Sends `webhook.test` now and returns the result.',
  }),
  deliveries: route({
    ...base,
    id: 'webhook_endpoints.deliveries',
    method: 'GET',
    path: `${one}/deliveries`,
    params: EndpointPath,
    query: Type.Object({
      ...pageQuery,
      state: Type.Optional(EndpointDelivery.properties.state),
      session_id: Type.Optional(Type.String({ maxLength: 200 })),
    }),
    responses: { 200: Type.Object({ deliveries: Type.Array(EndpointDelivery), next_cursor: NextCursor }) },
    summary: 'List deliveries of a webhook endpoint',
    description: 'Lists the result of each event, newest first.',
  }),
  replay: route({
    ...base,
    id: 'webhook_endpoints.replay',
    method: 'POST',
    path: `${one}/deliveries/{delivery_id}/replay`,
    params: DeliveryPath,
    responses: { 200: EndpointDelivery },
    summary: 'Replay a delivery of a webhook endpoint',
    description: 'Sends a delivered or failed event again under the same `webhook-id`.',
  }),
}
