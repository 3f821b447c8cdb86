import { Type } from 'typebox'
import { type ErrorCode, statusOfCode } from './error-codes.ts'
import { named } from './named.ts'
import { route } from './route.ts'

const base = { access: 'google-key', errorShape: 'google', isForPrograms: true } as const
const call = { ...base, bodyLimit: 32 * 1024 * 1024 } as const

const open = { additionalProperties: true } as const
const ModelPath = Type.Object({ model: Type.String({ description: 'Model name; may contain slashes' }) })

/** `{error:{code,message,status}}`, on the paths of Google's API. */
export const GoogleError = named(
  'GoogleError',
  Type.Object({
    error: Type.Object({ code: Type.Integer(), message: Type.String(), status: Type.String() }),
  }),
)

/** Error names of Google, which its clients read in addition to the status. */
const statuses: Readonly<Record<ErrorCode, string>> = {
  invalid_request: 'INVALID_ARGUMENT',
  unauthorized: 'UNAUTHENTICATED',
  // Not RESOURCE_EXHAUSTED, which clients retry without success.
  budget_exceeded: 'FAILED_PRECONDITION',
  forbidden: 'PERMISSION_DENIED',
  not_found: 'NOT_FOUND',
  unknown_path: 'NOT_FOUND',
  method_not_allowed: 'UNIMPLEMENTED',
  upgrade_required: 'UNIMPLEMENTED',
  conflict: 'ABORTED',
  payload_too_large: 'INVALID_ARGUMENT',
  unsupported_media_type: 'INVALID_ARGUMENT',
  idempotency_mismatch: 'INVALID_ARGUMENT',
  rate_limited: 'RESOURCE_EXHAUSTED',
  internal: 'INTERNAL',
  upstream_unreachable: 'UNAVAILABLE',
  unavailable: 'UNAVAILABLE',
  upstream_timeout: 'DEADLINE_EXCEEDED',
  overloaded: 'UNAVAILABLE',
}

/** Returns Google's name of an error code. */
export const googleStatusOf = (error: ErrorCode): string => statuses[error]

/** Returns an error in Google's format. */
export const googleError = (error: ErrorCode, message: string) => ({
  error: { code: statusOfCode(error), message, status: statuses[error] },
})

/** Part of a request or an answer; one field determines its kind. */
const Content = named(
  'GeminiContent',
  Type.Object({ role: Type.Optional(Type.String()), parts: Type.Optional(Type.Array(Type.Unknown())) }, open),
)

const GenerateRequest = named(
  'GeminiGenerateRequest',
  Type.Object(
    {
      contents: Type.Array(Type.Unknown(), { minItems: 1 }),
      generationConfig: Type.Optional(
        Type.Object({ maxOutputTokens: Type.Optional(Type.Union([Type.Integer({ minimum: 1 }), Type.Null()])) }, open),
      ),
    },
    open,
  ),
)

const GenerateResponse = named(
  'GeminiGenerateResponse',
  Type.Object(
    {
      candidates: Type.Optional(
        Type.Array(
          Type.Object(
            { content: Type.Optional(Content), finishReason: Type.Optional(Type.String()), index: Type.Integer() },
            open,
          ),
        ),
      ),
      promptFeedback: Type.Optional(Type.Object({ blockReason: Type.String() }, open)),
      usageMetadata: Type.Object({ promptTokenCount: Type.Integer(), totalTokenCount: Type.Integer() }, open),
      modelVersion: Type.String(),
      responseId: Type.String(),
    },
    open,
  ),
)

/** Model in Google's format. */
export const GoogleModel = named(
  'GoogleModel',
  Type.Object({
    name: Type.String({ description: '`models/` and the id' }),
    version: Type.String(),
    displayName: Type.String(),
    description: Type.String(),
    inputTokenLimit: Type.Optional(Type.Integer()),
    outputTokenLimit: Type.Optional(Type.Integer()),
    supportedGenerationMethods: Type.Array(Type.String()),
  }),
)

interface Version {
  readonly version: string
  /** Suffix that keeps the ids of the routes unique. */
  readonly suffix: string
  /** True where clients may omit `models/` before an id with a slash. */
  readonly hasShortPaths: boolean
}

/** Methods of a model under one version of Google's API. */
const methodsUnder = ({ version, suffix, hasShortPaths }: Version) => ({
  generate: route({
    ...call,
    id: `gemini.generate${suffix}`,
    method: 'POST',
    path: `/${version}/models/{model}:generateContent`,
    ...(hasShortPaths && { aliases: [`/${version}/{model}:generateContent`] }),
    params: ModelPath,
    body: GenerateRequest,
    responses: { 200: GenerateResponse },
    summary: 'Generate content',
    description: 'Sends a conversation to a model in Gemini’s format and returns the whole answer.',
  }),
  stream: route({
    ...call,
    id: `gemini.stream${suffix}`,
    method: 'POST',
    path: `/${version}/models/{model}:streamGenerateContent`,
    ...(hasShortPaths && { aliases: [`/${version}/{model}:streamGenerateContent`] }),
    params: ModelPath,
    query: Type.Object({ alt: Type.Optional(Type.String({ description: '`sse`; without it, one JSON array' })) }),
    body: GenerateRequest,
    responses: {
      200: Type.String({
        description: 'Server-sent events of `GenerateContentResponse`; without `alt=sse` a JSON array',
      }),
    },
    produces: 'text/event-stream',
    alternatives: { 'application/json': Type.Array(GenerateResponse) },
    summary: 'Generate content as a stream',
    description:
      'Sends a conversation to a model in Gemini’s format. `alt=sse` answers with server-sent events, else with one JSON array.',
  }),
  countTokens: route({
    ...call,
    id: `gemini.count_tokens${suffix}`,
    method: 'POST',
    path: `/${version}/models/{model}:countTokens`,
    ...(hasShortPaths && { aliases: [`/${version}/{model}:countTokens`] }),
    params: ModelPath,
    body: Type.Object(
      {
        contents: Type.Optional(Type.Array(Type.Unknown())),
        generateContentRequest: Type.Optional(Type.Object({}, open)),
      },
      open,
    ),
    responses: { 200: Type.Object({ totalTokens: Type.Integer() }, open) },
    summary: 'Count tokens',
    description: 'Returns the input tokens of a request in Gemini’s format. The request is free.',
  }),
  embed: route({
    ...call,
    id: `gemini.embed${suffix}`,
    method: 'POST',
    path: `/${version}/models/{model}:embedContent`,
    ...(hasShortPaths && { aliases: [`/${version}/{model}:embedContent`] }),
    params: ModelPath,
    body: Type.Object({ content: Type.Object({ parts: Type.Array(Type.Unknown()) }, open) }, open),
    responses: { 200: Type.Object({ embedding: Type.Object({ values: Type.Array(Type.Number()) }, open) }, open) },
    summary: 'Create an embedding',
    description: 'Returns the embedding vector of one text, in Gemini’s format.',
  }),
  batchEmbed: route({
    ...call,
    id: `gemini.batch_embed${suffix}`,
    method: 'POST',
    path: `/${version}/models/{model}:batchEmbedContents`,
    ...(hasShortPaths && { aliases: [`/${version}/{model}:batchEmbedContents`] }),
    params: ModelPath,
    body: Type.Object({ requests: Type.Array(Type.Unknown(), { minItems: 1 }) }, open),
    responses: { 200: Type.Object({ embeddings: Type.Array(Type.Unknown()) }, open) },
    summary: 'Create several embeddings',
    description: 'Returns the embedding vectors of several texts, in Gemini’s format.',
  }),
})

const methods = methodsUnder({ version: 'v1beta', suffix: '', hasShortPaths: true })
const newerMethods = methodsUnder({ version: 'v1', suffix: '_v1', hasShortPaths: false })

export const geminiRoutes = {
  ...methods,
  /** The same methods without `beta`, as newer clients call them. */
  generateV1: newerMethods.generate,
  streamV1: newerMethods.stream,
  countTokensV1: newerMethods.countTokens,
  embedV1: newerMethods.embed,
  batchEmbedV1: newerMethods.batchEmbed,
  listModels: route({
    ...base,
    id: 'gemini.list_models',
    method: 'GET',
    path: '/v1beta/models',
    query: Type.Object({
      pageSize: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000, default: 50 })),
      pageToken: Type.Optional(Type.String({ maxLength: 300 })),
    }),
    responses: {
      200: Type.Object({ models: Type.Array(GoogleModel), nextPageToken: Type.Optional(Type.String()) }),
    },
    summary: 'List models in Gemini’s format',
    description: 'Lists the models that this key may use.',
  }),
  getModel: route({
    ...base,
    id: 'gemini.get_model',
    method: 'GET',
    path: '/v1beta/models/{model}',
    params: ModelPath,
    responses: { 200: GoogleModel },
    summary: 'Read a model in Gemini’s format',
    description: 'Returns one model with its limits.',
  }),
}
