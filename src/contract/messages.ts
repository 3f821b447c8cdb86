import { Type } from 'typebox'
import { named } from './named.ts'
import { route } from './route.ts'
import { eventStream } from './schemas.ts'

const base = { access: 'key', errorShape: 'anthropic', bodyLimit: 32 * 1024 * 1024, isForPrograms: true } as const

/** Anthropic's message request: four fields are validated, all others pass unchanged. Interface: Messages. */
export const MessageRequest = named(
  'MessageRequest',
  Type.Object(
    {
      model: Type.String({ minLength: 1 }),
      messages: Type.Array(Type.Unknown(), { minItems: 1 }),
      max_tokens: Type.Integer({ minimum: 1 }),
      stream: Type.Optional(Type.Boolean()),
    },
    { additionalProperties: true },
  ),
)

export const Message = named(
  'Message',
  Type.Object(
    {
      id: Type.String(),
      type: Type.Literal('message'),
      role: Type.Literal('assistant'),
      content: Type.Array(Type.Object({ type: Type.String() }, { additionalProperties: true })),
      model: Type.String(),
      stop_reason: Type.Union([Type.String(), Type.Null()]),
      usage: Type.Object(
        { input_tokens: Type.Integer(), output_tokens: Type.Integer() },
        { additionalProperties: true },
      ),
    },
    { additionalProperties: true },
  ),
)

export const messageRoutes = {
  create: route({
    ...base,
    id: 'messages.create',
    alternatives: eventStream,
    method: 'POST',
    path: '/v1/messages',
    aliases: ['/messages'],
    body: MessageRequest,
    responses: { 200: Message },
    summary: 'Create a message',
    description:
      'Sends a conversation to a model in Anthropic’s format. `stream: true` answers with server-sent events. A model of another format is called through a translation; what could not be carried over is listed in `x-switchyard-degraded`. Answers 402 when a budget is used up and 429 when a rate limit is reached; errors of the provider keep their status.',
  }),
  countTokens: route({
    ...base,
    id: 'messages.count_tokens',
    method: 'POST',
    path: '/v1/messages/count_tokens',
    aliases: ['/messages/count_tokens'],
    body: Type.Object(
      { model: Type.String({ minLength: 1 }), messages: Type.Array(Type.Unknown(), { minItems: 1 }) },
      { additionalProperties: true },
    ),
    responses: { 200: Type.Object({ input_tokens: Type.Integer() }) },
    summary: 'Count the tokens of a message',
    description:
      'Returns the input tokens of a message request without calling the model. The request is free. Counts of models whose provider has no counter are estimates.',
  }),
}
