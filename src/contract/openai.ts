import { Type } from 'typebox'
import type { ErrorCode } from './error-codes.ts'
import { named } from './named.ts'
import { route } from './route.ts'
import { eventStream } from './schemas.ts'

const base = { access: 'key', errorShape: 'openai', bodyLimit: 32 * 1024 * 1024, isForPrograms: true } as const

const open = { additionalProperties: true } as const
const Model = Type.String({ minLength: 1 })
const Stream = Type.Optional(Type.Union([Type.Boolean(), Type.Null()]))
const TokenLimit = Type.Optional(Type.Union([Type.Integer({ minimum: 1 }), Type.Null()]))

/** `{error:{message,type,param,code}}`, on the paths of OpenAI's API. */
export const OpenAiError = named(
  'OpenAiError',
  Type.Object({
    error: Type.Object({
      message: Type.String(),
      type: Type.String(),
      param: Type.Union([Type.String(), Type.Null()]),
      code: Type.Union([Type.String(), Type.Null()]),
    }),
  }),
)

/** Type and code of an error in OpenAI's format. */
interface OpenAiKind {
  readonly type: string
  readonly code: string | null
}

const wrong: OpenAiKind = { type: 'invalid_request_error', code: null }
const failed: OpenAiKind = { type: 'server_error', code: 'server_error' }

const kinds: Readonly<Record<ErrorCode, OpenAiKind>> = {
  invalid_request: wrong,
  unauthorized: { ...wrong, code: 'invalid_api_key' },
  budget_exceeded: { type: 'insufficient_quota', code: 'insufficient_quota' },
  forbidden: { type: 'permission_error', code: null },
  not_found: { ...wrong, code: 'model_not_found' },
  unknown_path: { ...wrong, code: 'unknown_url' },
  method_not_allowed: wrong,
  upgrade_required: wrong,
  conflict: wrong,
  payload_too_large: { ...wrong, code: 'request_too_large' },
  unsupported_media_type: wrong,
  idempotency_mismatch: wrong,
  rate_limited: { type: 'rate_limit_error', code: 'rate_limit_exceeded' },
  internal: failed,
  upstream_unreachable: failed,
  unavailable: failed,
  upstream_timeout: { type: 'server_error', code: 'timeout' },
  overloaded: { type: 'server_error', code: 'server_is_overloaded' },
}

/** Returns an error in OpenAI's format. `code` replaces the default for the error code. */
export const openAiError = (error: ErrorCode, message: string, code: string | null = kinds[error].code) => ({
  error: { message, type: kinds[error].type, param: null, code },
})

const stored = {
  access: 'key',
  errorShape: 'openai',
  isForPrograms: true,
  params: Type.Object({ response_id: Type.String({ minLength: 1, maxLength: 200 }) }),
} as const

export const openAiRoutes = {
  chat: route({
    ...base,
    id: 'openai.chat',
    alternatives: eventStream,
    method: 'POST',
    path: '/v1/chat/completions',
    aliases: ['/chat/completions', '/openai/deployments/{model}/chat/completions'],
    body: Type.Object(
      {
        model: Model,
        messages: Type.Array(Type.Unknown(), { minItems: 1 }),
        stream: Stream,
        max_tokens: TokenLimit,
        max_completion_tokens: TokenLimit,
      },
      open,
    ),
    responses: {
      200: Type.Object(
        {
          id: Type.String(),
          object: Type.Literal('chat.completion'),
          created: Type.Integer(),
          model: Type.String(),
          choices: Type.Array(Type.Object({ index: Type.Integer() }, open)),
        },
        open,
      ),
    },
    summary: 'Create a chat completion',
    description:
      'Sends a conversation to a model in OpenAI’s Chat Completions format. `stream: true` answers with server-sent events that end with `[DONE]`.',
  }),
  responses: route({
    ...base,
    id: 'openai.responses',
    alternatives: eventStream,
    method: 'POST',
    path: '/v1/responses',
    aliases: ['/responses', '/openai/deployments/{model}/responses'],
    body: Type.Object(
      {
        model: Model,
        input: Type.Optional(
          Type.Union([Type.String(), Type.Array(Type.Unknown(), { minItems: 1 })], {
            description: 'Required, unless `prompt` names a prompt that the provider stores',
          }),
        ),
        stream: Stream,
        background: Type.Optional(Type.Union([Type.Boolean(), Type.Null()])),
        max_output_tokens: TokenLimit,
      },
      open,
    ),
    responses: {
      200: Type.Object(
        {
          id: Type.String(),
          object: Type.Literal('response'),
          created_at: Type.Number(),
          status: Type.String(),
          model: Type.String(),
          output: Type.Array(Type.Object({ type: Type.String() }, open)),
        },
        open,
      ),
    },
    summary: 'Create a response',
    description:
      'Sends input to a model in OpenAI’s Responses format. `previous_response_id` continues a stored response; `stream: true` answers with server-sent events. `background: true` answers at once with a queued response, which runs without its client.',
  }),
  countResponse: route({
    ...base,
    id: 'openai.countResponse',
    method: 'POST',
    path: '/v1/responses/input_tokens',
    aliases: ['/responses/input_tokens', '/openai/deployments/{model}/responses/input_tokens'],
    body: Type.Object(
      { model: Model, input: Type.Union([Type.String(), Type.Array(Type.Unknown(), { minItems: 1 })]) },
      open,
    ),
    responses: {
      200: Type.Object({ object: Type.Literal('response.input_tokens'), input_tokens: Type.Integer() }, open),
    },
    summary: 'Count the tokens of a response',
    description: 'Returns the input tokens of a Responses request without calling the model. The request is free.',
  }),
  compactResponse: route({
    ...base,
    id: 'openai.compactResponse',
    method: 'POST',
    path: '/v1/responses/compact',
    aliases: ['/responses/compact', '/openai/deployments/{model}/responses/compact'],
    body: Type.Object(
      {
        model: Model,
        input: Type.Optional(Type.Union([Type.String(), Type.Array(Type.Unknown(), { minItems: 1 })])),
        previous_response_id: Type.Optional(Type.Union([Type.String(), Type.Null()])),
      },
      open,
    ),
    responses: {
      200: Type.Object(
        {
          id: Type.String(),
          object: Type.Literal('response.compaction'),
          created_at: Type.Integer(),
          output: Type.Array(Type.Object({ type: Type.String() }, open)),
        },
        open,
      ),
    },
    summary: 'Compact a conversation',
    description: 'Returns the messages of the user and one item that replaces the rest of the conversation.',
  }),
  response: route({
    ...stored,
    id: 'openai.response',
    alternatives: eventStream,
    method: 'GET',
    path: '/v1/responses/{response_id}',
    aliases: ['/responses/{response_id}', '/openai/v1/responses/{response_id}'],
    query: Type.Object(
      {
        stream: Type.Optional(Type.Boolean()),
        starting_after: Type.Optional(Type.Integer({ minimum: 0, maximum: 2_147_483_647 })),
      },
      open,
    ),
    responses: { 200: Type.Object({ id: Type.String(), object: Type.Literal('response') }, open) },
    summary: 'Read a stored response',
    description:
      'Returns a response that was created with `store` enabled. `stream=true` returns the events of a background response that was created with `stream: true`: those after event `starting_after`, or all, and new ones until its end. Other callers receive 404.',
  }),
  deleteResponse: route({
    ...stored,
    id: 'openai.deleteResponse',
    method: 'DELETE',
    path: '/v1/responses/{response_id}',
    aliases: ['/responses/{response_id}', '/openai/v1/responses/{response_id}'],
    responses: { 200: Type.Object({ id: Type.String(), object: Type.String(), deleted: Type.Boolean() }) },
    summary: 'Delete a stored response',
    description: 'Deletes a stored response with its contents.',
  }),
  responseInput: route({
    ...stored,
    id: 'openai.responseInput',
    method: 'GET',
    path: '/v1/responses/{response_id}/input_items',
    aliases: ['/responses/{response_id}/input_items', '/openai/v1/responses/{response_id}/input_items'],
    query: Type.Object(
      {
        after: Type.Optional(Type.String()),
        limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100 })),
        order: Type.Optional(Type.Union([Type.Literal('asc'), Type.Literal('desc')])),
      },
      open,
    ),
    responses: {
      200: Type.Object(
        { object: Type.Literal('list'), data: Type.Array(Type.Unknown()), has_more: Type.Boolean() },
        open,
      ),
    },
    summary: 'List the input of a stored response',
    description: 'Lists the input items of a stored response, newest first.',
  }),
  cancelResponse: route({
    ...stored,
    id: 'openai.cancelResponse',
    method: 'POST',
    path: '/v1/responses/{response_id}/cancel',
    aliases: ['/responses/{response_id}/cancel', '/openai/v1/responses/{response_id}/cancel'],
    responses: { 200: Type.Object({ id: Type.String(), object: Type.Literal('response') }, open) },
    summary: 'Cancel a background response',
    description:
      'Cancels a background response and returns it; one that has ended is returned unchanged. A response that was not created with `background: true` is 400.',
  }),
  embeddings: route({
    ...base,
    id: 'openai.embeddings',
    method: 'POST',
    path: '/v1/embeddings',
    aliases: ['/embeddings', '/openai/deployments/{model}/embeddings'],
    body: Type.Object(
      { model: Model, input: Type.Union([Type.String(), Type.Array(Type.Unknown(), { minItems: 1 })]) },
      open,
    ),
    responses: {
      200: Type.Object({ object: Type.Literal('list'), data: Type.Array(Type.Unknown()), model: Type.String() }, open),
    },
    summary: 'Create embeddings',
    description: 'Returns embedding vectors of one or several texts, in OpenAI’s format.',
  }),
}
