import { type Static, Type } from 'typebox'
import { route } from './route.ts'
import { NextCursor, Nullable, pageQuery } from './schemas.ts'

const Time = Type.String({ format: 'date-time' })

const Url = Type.String({
  minLength: 1,
  maxLength: 2_000,
  description: 'https, and public unless outbound.allow lists it',
})
const Events = Type.Array(Type.String({ maxLength: 100, pattern: '^([a-z][a-z0-9_]*[.])*([a-z][a-z0-9_]*|[*])$' }), {
  maxItems: 50,
  description: 'Types such as `session.status_idle`, or `session.*`; empty: all',
})
const AgentIds = Type.Array(Type.String({ minLength: 1, maxLength: 200 }), {
  maxItems: 100,
  description: 'Sessions of these agents alone; empty: all',
})
const Description = Nullable(Type.String({ maxLength: 1_000 }))

/** A receiver of session events. Its secret is shown when it is made, and never again. */
export const WebhookEndpoint = Type.Object({
  id: Type.String(),
  owner_id: Nullable(Type.String({ description: 'Whose sessions it hears of; null: everybody’s' })),
  url: Type.String(),
  description: Nullable(Type.String()),
  events: Type.Array(Type.String()),
  agent_ids: Type.Array(Type.String()),
  status: Type.Union([Type.Literal('active'), Type.Literal('paused'), Type.Literal('disabled')]),
  disabled_reason: Nullable(Type.String()),
  run_as_key_id: Nullable(
    Type.String({
      description:
        'The key that set it up, with which it ends: the last one that changed `url`, `events` or `agent_ids`. null: the master key or an admin key without limits did',
    }),
  ),
  failing_since: Nullable(Time),
  created_at: Time,
  updated_at: Time,
})
export type WebhookEndpoint = Static<typeof WebhookEndpoint>

const ShownEndpoint = Type.Object({
  ...WebhookEndpoint.properties,
  secret: Type.String({ description: '`whsec_…`; shown this once' }),
})
export type ShownEndpoint = Static<typeof ShownEndpoint>

const optional = {
  description: Type.Optional(Description),
  events: Type.Optional(Events),
  agent_ids: Type.Optional(AgentIds),
  status: Type.Optional(
    Type.Union([Type.Literal('active'), Type.Literal('paused')], {
      description: 'What happens while it is paused or disabled is sent once it is active again',
    }),
  ),
}
const EndpointCreate = Type.Object({
  url: Url,
  owner_id: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 200,
      description:
        'Whose sessions it hears of; the owner of the key by default. A key that is neither an admin nor has an owner names `owner_id` or `agent_ids`',
    }),
  ),
  ...optional,
})
export type EndpointCreate = Static<typeof EndpointCreate>

const EndpointUpdate = Type.Object({ url: Type.Optional(Url), ...optional })
export type EndpointUpdate = Static<typeof EndpointUpdate>

/** What became of one event. Nothing that the receiver said is in it but the status of its answer. */
export const EndpointDelivery = Type.Object({
  id: Type.String(),
  endpoint_id: Type.String(),
  session_id: Type.String(),
  seq: Type.Integer(),
  event_id: Type.String({ description: 'The `webhook-id`, the same at every attempt' }),
  event_type: Type.String(),
  state: Type.Union([Type.Literal('pending'), Type.Literal('delivered'), Type.Literal('dead')]),
  attempts: Type.Integer(),
  http_status: Nullable(Type.Integer()),
  error: Nullable(Type.String()),
  duration_ms: Type.Integer(),
  next_attempt_at: Nullable(Time),
  created_at: Time,
  finished_at: Nullable(Time),
})
export type EndpointDelivery = Static<typeof EndpointDelivery>

const TestResult = Type.Object({
  ok: Type.Boolean(),
  http_status: Nullable(Type.Integer()),
  error: Nullable(Type.String()),
  duration_ms: Type.Integer(),
})
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
    summary: 'List the receivers of session events, newest first',
  }),
  create: route({
    ...base,
    id: 'webhook_endpoints.create',
    method: 'POST',
    path: '/api/webhook-endpoints',
    body: EndpointCreate,
    responses: { 201: ShownEndpoint },
    summary: 'Send session events to an address, signed by Standard Webhooks',
  }),
  get: route({
    ...base,
    id: 'webhook_endpoints.get',
    method: 'GET',
    path: one,
    params: EndpointPath,
    responses: { 200: WebhookEndpoint },
    summary: 'Read one receiver',
  }),
  update: route({
    ...base,
    id: 'webhook_endpoints.update',
    method: 'PATCH',
    path: one,
    params: EndpointPath,
    body: EndpointUpdate,
    responses: { 200: WebhookEndpoint },
    summary: 'Change, pause or enable a receiver; absent fields stay',
  }),
  remove: route({
    ...base,
    id: 'webhook_endpoints.remove',
    method: 'DELETE',
    path: one,
    params: EndpointPath,
    responses: { 200: Type.Object({ ok: Type.Literal(true) }) },
    summary: 'Delete a receiver with its deliveries',
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
          description: 'For so long the old secret signs as well; `24h` by default, `0s` ends it now',
        }),
      ),
    }),
    bodyOptional: true,
    responses: { 200: ShownEndpoint },
    summary: 'Make a new secret; for a while deliveries carry a signature of each',
  }),
  test: route({
    ...base,
    id: 'webhook_endpoints.test',
    method: 'POST',
    path: `${one}/test`,
    params: EndpointPath,
    responses: { 200: TestResult },
    summary: 'Send a `webhook.test` now and tell what became of it',
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
    summary: 'What became of each event, newest first',
  }),
  replay: route({
    ...base,
    id: 'webhook_endpoints.replay',
    method: 'POST',
    path: `${one}/deliveries/{delivery_id}/replay`,
    params: DeliveryPath,
    responses: { 200: EndpointDelivery },
    summary: 'Send a delivered or dead event once more, now, under the same `webhook-id`',
  }),
}
