import { type TSchema, Type } from 'typebox'
import { route } from './route.ts'
import { eventStream } from './schemas.ts'

const json = { access: 'key', errorShape: 'openai', bodyLimit: 32 * 1024 * 1024, isForPrograms: true } as const
const form = { ...json, bodyLimit: 25 * 1024 * 1024, consumes: 'multipart/form-data' } as const

const open = { additionalProperties: true } as const
const Model = Type.String({ minLength: 1 })
const Stream = Type.Optional(Type.Union([Type.Boolean(), Type.Null()]))
const Text = Type.String({ minLength: 1 })
const TextOrList = Type.Union([Type.String(), Type.Array(Type.Unknown(), { minItems: 1 })])
const File = Type.String({ format: 'binary' })
const Answer = (fields: Record<string, TSchema>) => Type.Object(fields, open)
const Images = Answer({ data: Type.Array(Type.Unknown()) })

/** The path without its version, and the path of Azure's clients. */
const aliasesOf = (path: string) => [path, `/openai/deployments/{model}${path}`]

/** OpenAI's endpoints that pass through to upstreams that support them. */
export const endpointRoutes = {
  completions: route({
    ...json,
    id: 'openai.completions',
    alternatives: eventStream,
    method: 'POST',
    path: '/v1/completions',
    aliases: aliasesOf('/completions'),
    body: Type.Object({ model: Model, prompt: Type.Unknown(), stream: Stream }, open),
    responses: { 200: Answer({ choices: Type.Array(Type.Unknown()) }) },
    summary: 'Create a completion',
    description:
      'Completes a text in OpenAI’s older Completions format, at a provider that supports it. `stream: true` answers with server-sent events.',
  }),
  moderations: route({
    ...json,
    id: 'openai.moderations',
    method: 'POST',
    path: '/v1/moderations',
    aliases: aliasesOf('/moderations'),
    body: Type.Object({ model: Type.Optional(Model), input: TextOrList }, open),
    responses: { 200: Answer({ results: Type.Array(Type.Unknown()) }) },
    summary: 'Classify text or images',
    description:
      'Returns whether an input is harmful, by category. Without `model` the request uses `omni-moderation-latest`.',
  }),
  rerank: route({
    ...json,
    id: 'openai.rerank',
    method: 'POST',
    path: '/v1/rerank',
    aliases: ['/v2/rerank', ...aliasesOf('/rerank')],
    body: Type.Object({ model: Model, query: Type.Unknown(), documents: Type.Array(Type.Unknown()) }, open),
    responses: { 200: Answer({ results: Type.Array(Type.Unknown()) }) },
    summary: 'Rerank documents',
    description: 'Orders documents by their relevance to a query, in the format that Cohere, Jina and vLLM share.',
  }),
  images: route({
    ...json,
    id: 'openai.images',
    alternatives: eventStream,
    method: 'POST',
    path: '/v1/images/generations',
    aliases: aliasesOf('/images/generations'),
    body: Type.Object({ model: Model, prompt: Text, stream: Stream }, open),
    responses: { 200: Images },
    summary: 'Create an image',
    description: 'Generates images from a text. `stream: true` answers with server-sent events.',
  }),
  imageEdits: route({
    ...form,
    id: 'openai.image_edits',
    alternatives: eventStream,
    method: 'POST',
    path: '/v1/images/edits',
    aliases: aliasesOf('/images/edits'),
    body: Type.Object({ model: Model, prompt: Text, image: File, mask: Type.Optional(File) }, open),
    responses: { 200: Images },
    summary: 'Edit an image',
    description:
      'Edits `image`, or several `image[]`, by a text. Takes a form of up to 25 MB, or JSON where the provider accepts it.',
  }),
  imageVariations: route({
    ...form,
    id: 'openai.image_variations',
    method: 'POST',
    path: '/v1/images/variations',
    aliases: aliasesOf('/images/variations'),
    body: Type.Object({ model: Model, image: File }, open),
    responses: { 200: Images },
    summary: 'Create variations of an image',
    description: 'Takes a form of up to 25 MB with one image.',
  }),
  speech: route({
    ...json,
    id: 'openai.speech',
    alternatives: eventStream,
    method: 'POST',
    path: '/v1/audio/speech',
    aliases: aliasesOf('/audio/speech'),
    body: Type.Object({ model: Model, input: Text }, open),
    responses: { 200: Type.String({ format: 'binary', description: 'Audio; events with `stream_format: sse`' }) },
    produces: 'audio/mpeg',
    summary: 'Create speech',
    description: 'Turns text into audio. The audio is relayed while the provider sends it.',
  }),
  transcriptions: route({
    ...form,
    id: 'openai.transcriptions',
    method: 'POST',
    path: '/v1/audio/transcriptions',
    aliases: aliasesOf('/audio/transcriptions'),
    body: Type.Object({ model: Model, file: File }, open),
    responses: { 200: Answer({ text: Type.Unknown() }) },
    summary: 'Transcribe audio',
    description: 'Transcribes a recording. Takes a form of up to 25 MB with exactly one file.',
  }),
  translations: route({
    ...form,
    id: 'openai.translations',
    method: 'POST',
    path: '/v1/audio/translations',
    aliases: aliasesOf('/audio/translations'),
    body: Type.Object({ model: Model, file: File }, open),
    responses: { 200: Answer({ text: Type.Unknown() }) },
    summary: 'Translate audio into English',
    description: 'Transcribes a recording in English. Takes a form of up to 25 MB with exactly one file.',
  }),
}
