import { type Static, Type } from 'typebox'
import { Metadata } from './metadata.ts'
import { named } from './named.ts'
import { route } from './route.ts'
import { Nullable } from './schemas.ts'

/** Maximum number of requests of a batch in Anthropic's format. */
export const maxMessageRequests = 100_000
/** Maximum number of lines of an input file in OpenAI's format. */
export const maxBatchLines = 50_000

const Time = Type.String({ format: 'date-time' })
const WaitingFor = Nullable(
  Type.String(),
  'Why the remaining requests wait, such as a budget without room; null while they do not wait',
)

const ProviderBatches = Type.Array(
  Type.Object({
    id: Type.String({ description: 'Id of the batch at the provider' }),
    deployment: Type.String(),
    requests: Type.Integer(),
    status: Type.Union([Type.Literal('in_progress'), Type.Literal('ended')]),
  }),
  {
    description:
      'The last 100 batches of providers that requests of this batch were submitted in; all other requests are made singly',
  },
)

/** Batch in Anthropic's format. */
export const MessageBatch = named(
  'MessageBatch',
  Type.Object({
    id: Type.String(),
    type: Type.Literal('message_batch'),
    processing_status: Type.Union([Type.Literal('in_progress'), Type.Literal('canceling'), Type.Literal('ended')]),
    request_counts: Type.Object({
      processing: Type.Integer(),
      succeeded: Type.Integer(),
      errored: Type.Integer(),
      canceled: Type.Integer(),
      expired: Type.Integer(),
    }),
    created_at: Time,
    expires_at: Type.String({
      format: 'date-time',
      description: '24 hours after the creation; requests without an answer expire then',
    }),
    ended_at: Nullable(Time),
    cancel_initiated_at: Nullable(Time),
    archived_at: Type.Null({ description: 'Always null: a batch is deleted together with its results' }),
    results_url: Nullable(Type.String(), 'null until the batch has ended'),
    waiting_for: WaitingFor,
    provider_batches: ProviderBatches,
  }),
)
export type MessageBatch = Static<typeof MessageBatch>

export const BatchEndpoint = Type.Union([
  Type.Literal('/v1/chat/completions'),
  Type.Literal('/v1/responses'),
  Type.Literal('/v1/embeddings'),
])
export type BatchEndpoint = Static<typeof BatchEndpoint>

const BatchError = Type.Object({
  code: Type.String(),
  message: Type.String(),
  line: Nullable(Type.Integer(), 'Line of the input file, counted from 1'),
  param: Nullable(Type.String()),
})
export type BatchError = Static<typeof BatchError>

const Seconds = Type.Integer({ description: 'Seconds since 1970' })

/** Batch in OpenAI's format. */
export const Batch = named(
  'Batch',
  Type.Object({
    id: Type.String(),
    object: Type.Literal('batch'),
    endpoint: BatchEndpoint,
    errors: Nullable(Type.Object({ object: Type.Literal('list'), data: Type.Array(BatchError) })),
    input_file_id: Type.String(),
    completion_window: Type.Literal('24h'),
    status: Type.Union([
      Type.Literal('validating'),
      Type.Literal('failed'),
      Type.Literal('in_progress'),
      Type.Literal('finalizing'),
      Type.Literal('completed'),
      Type.Literal('expired'),
      Type.Literal('cancelling'),
      Type.Literal('cancelled'),
    ]),
    output_file_id: Nullable(Type.String()),
    error_file_id: Nullable(Type.String()),
    created_at: Seconds,
    in_progress_at: Nullable(Seconds),
    expires_at: Seconds,
    finalizing_at: Nullable(Seconds),
    completed_at: Nullable(Seconds),
    failed_at: Nullable(Seconds),
    expired_at: Nullable(Seconds),
    cancelling_at: Nullable(Seconds),
    cancelled_at: Nullable(Seconds),
    request_counts: Type.Object({
      total: Type.Integer(),
      completed: Type.Integer(),
      failed: Type.Integer({ description: 'Errors, and requests that were cancelled or expired' }),
    }),
    metadata: Nullable(Metadata),
    waiting_for: WaitingFor,
    provider_batches: ProviderBatches,
  }),
)
export type Batch = Static<typeof Batch>

const BatchPath = Type.Object({
  batch_id: Type.String({ minLength: 1, maxLength: 200, description: 'Id of a batch of this format' }),
})
const anthropic = { access: 'key', errorShape: 'anthropic' } as const
const openAi = { access: 'key', errorShape: 'openai' } as const
const Place = Type.Optional(Type.String({ maxLength: 200 }))

export const batchRoutes = {
  create_messages: route({
    ...anthropic,
    id: 'batches.create_messages',
    method: 'POST',
    path: '/v1/messages/batches',
    bodyLimit: 256 * 1024 * 1024,
    unknownFields: 'reported',
    body: Type.Object({
      requests: Type.Array(
        Type.Object({
          custom_id: Type.String({ pattern: '^[A-Za-z0-9_-]{1,64}$', description: 'Unique in the batch' }),
          params: Type.Record(Type.String(), Type.Unknown(), { description: 'Body of `POST /v1/messages`' }),
        }),
        { minItems: 1, maxItems: maxMessageRequests },
      ),
    }),
    responses: { 200: MessageBatch },
    summary: 'Create a message batch',
    description:
      'Stores up to 100,000 message requests, which are made in the background within 24 hours, on any configured model. A request that is not valid fails alone; a request without `custom_id` or `params`, or with a `custom_id` that occurred before, answers 400. Each request is booked on the key that created the batch; requests wait while a budget has no room. Answers 429 while 100 batches of the caller have not ended.',
  }),
  list_messages: route({
    ...anthropic,
    id: 'batches.list_messages',
    method: 'GET',
    path: '/v1/messages/batches',
    query: Type.Object({
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000, default: 20 })),
      after_id: Place,
      before_id: Place,
    }),
    responses: {
      200: Type.Object({
        data: Type.Array(MessageBatch),
        has_more: Type.Boolean(),
        first_id: Nullable(Type.String()),
        last_id: Nullable(Type.String()),
      }),
    },
    summary: 'List message batches',
    description: 'Lists the message batches of the caller, newest first.',
  }),
  get_message: route({
    ...anthropic,
    id: 'batches.get_message',
    method: 'GET',
    path: '/v1/messages/batches/{batch_id}',
    params: BatchPath,
    responses: { 200: MessageBatch },
    summary: 'Read a message batch',
    description: 'Returns a message batch with its counts. Batches of other callers are 404.',
  }),
  cancel_messages: route({
    ...anthropic,
    id: 'batches.cancel_messages',
    method: 'POST',
    path: '/v1/messages/batches/{batch_id}/cancel',
    params: BatchPath,
    responses: { 200: MessageBatch },
    summary: 'Cancel a message batch',
    description:
      'Cancels the requests that have not started; those in flight are finished. Answers 409 for a batch that has ended.',
  }),
  remove_messages: route({
    ...anthropic,
    id: 'batches.remove_messages',
    method: 'DELETE',
    path: '/v1/messages/batches/{batch_id}',
    params: BatchPath,
    responses: { 200: Type.Object({ id: Type.String(), type: Type.Literal('message_batch_deleted') }) },
    summary: 'Delete a message batch',
    description: 'Deletes a message batch with its results. Answers 409 while it has not ended; cancel it first.',
  }),
  results: route({
    ...anthropic,
    id: 'batches.results',
    method: 'GET',
    path: '/v1/messages/batches/{batch_id}/results',
    params: BatchPath,
    produces: 'application/x-jsonl',
    responses: { 200: Type.String({ description: 'A line of JSON for each request' }) },
    summary: 'Read the results of a message batch',
    description:
      'Streams a line for each request: `{custom_id, result}`, where `result.type` is `succeeded` with a `message`, `errored` with an `error`, `canceled` or `expired`. Answers 409 while the batch has not ended.',
  }),
  create: route({
    ...openAi,
    id: 'batches.create',
    method: 'POST',
    path: '/v1/batches',
    unknownFields: 'reported',
    body: Type.Object({
      input_file_id: Type.String({ minLength: 1, maxLength: 200, description: 'A file with purpose `batch`' }),
      endpoint: BatchEndpoint,
      completion_window: Type.Literal('24h'),
      metadata: Type.Optional(Nullable(Metadata)),
      output_expires_after: Type.Optional(
        Nullable(
          Type.Object({
            anchor: Type.Literal('created_at'),
            seconds: Type.Integer({ minimum: 3600, maximum: 2_592_000 }),
          }),
          'Lifetime of the output files; without end by default',
        ),
      ),
    }),
    responses: { 200: Batch },
    summary: 'Create a batch',
    description:
      'Makes the requests of an uploaded file in the background within 24 hours. Each line of the file is `{custom_id, method, url, body}`, at most 50,000 lines. The file is checked first: with a line that is not valid JSON, a `custom_id` that occurred before or another `url` than `endpoint`, the status becomes `failed` and no request is made. A request that the model rejects fails alone. Each request is booked on the key that created the batch; requests wait while a budget has no room. Answers 429 while 100 batches of the caller have not ended.',
  }),
  list: route({
    ...openAi,
    id: 'batches.list',
    method: 'GET',
    path: '/v1/batches',
    query: Type.Object({
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, default: 20 })),
      after: Place,
    }),
    responses: {
      200: Type.Object({
        object: Type.Literal('list'),
        data: Type.Array(Batch),
        first_id: Nullable(Type.String()),
        last_id: Nullable(Type.String()),
        has_more: Type.Boolean(),
      }),
    },
    summary: 'List batches',
    description: 'Lists the batches of the caller, newest first.',
  }),
  get: route({
    ...openAi,
    id: 'batches.get',
    method: 'GET',
    path: '/v1/batches/{batch_id}',
    params: BatchPath,
    responses: { 200: Batch },
    summary: 'Read a batch',
    description: 'Returns a batch with its counts and the ids of its output files. Batches of other callers are 404.',
  }),
  cancel: route({
    ...openAi,
    id: 'batches.cancel',
    method: 'POST',
    path: '/v1/batches/{batch_id}/cancel',
    params: BatchPath,
    responses: { 200: Batch },
    summary: 'Cancel a batch',
    description:
      'Cancels the requests that have not started; those in flight are finished, and the output files have what was answered. Answers 409 for a batch that has ended.',
  }),
}
