import { type Static, Type } from 'typebox'
import { named } from './named.ts'
import { route } from './route.ts'
import { DateTime, Nullable } from './schemas.ts'

/** What callers may upload a file for. The service itself stores files with other purposes, such as `batch_output`. */
export const filePurposes = ['assistants', 'batch', 'evals', 'fine-tune', 'user_data', 'vision'] as const

/** Shortest and longest lifetime, in seconds: `expires_after[seconds]` of OpenAI, `expires_in_seconds` of Anthropic. */
export const fileLifetimeS = { min: 3_600, openai: 2_592_000, anthropic: 7_776_000 } as const

/** Maximum number of `ids` of a list. */
const maxIds = 100

/** File in OpenAI's format. */
export const OpenAiFile = named(
  'OpenAIFile',
  Type.Object({
    id: Type.String(),
    object: Type.Literal('file'),
    bytes: Type.Integer(),
    created_at: Type.Integer({ description: 'Seconds since 1970' }),
    expires_at: Nullable(Type.Integer({ description: 'Seconds since 1970' })),
    filename: Type.String(),
    purpose: Type.String(),
    status: Type.Literal('processed'),
  }),
)
export type OpenAiFile = Static<typeof OpenAiFile>

/** File in Anthropic's format. */
export const AnthropicFile = named(
  'AnthropicFile',
  Type.Object({
    id: Type.String(),
    type: Type.Literal('file'),
    filename: Type.String(),
    mime_type: Type.String(),
    size_bytes: Type.Integer(),
    created_at: DateTime,
    expires_at: Nullable(DateTime),
    downloadable: Type.Literal(true),
  }),
)
export type AnthropicFile = Static<typeof AnthropicFile>

const page = { has_more: Type.Boolean(), first_id: Nullable(Type.String()), last_id: Nullable(Type.String()) }
const FilePath = Type.Object({ file_id: Type.String({ description: 'Id of the file' }) })
const Id = (description: string) => Type.Optional(Type.String({ maxLength: 200, description }))
const base = { access: 'key', errorShape: 'by-header' } as const
const shapes =
  'A header `anthropic-version` or `anthropic-beta` selects Anthropic’s format, otherwise the answer has OpenAI’s.'

/** Files of callers, apart from sessions, in both formats. */
export const storedFileRoutes = {
  upload: route({
    ...base,
    id: 'stored_files.upload',
    method: 'POST',
    path: '/v1/files',
    bodyLimit: 513 * 1024 * 1024,
    consumes: 'multipart/form-data',
    body: Type.Object({
      file: Type.String({ format: 'binary', description: 'Exactly one file of at most 512 MB' }),
      purpose: Type.Optional(
        Type.String({
          description: `Required in OpenAI’s format: ${filePurposes.map(name => `\`${name}\``).join(', ')}`,
        }),
      ),
      'expires_after[anchor]': Type.Optional(Type.Literal('created_at')),
      'expires_after[seconds]': Type.Optional(
        Type.Integer({
          minimum: fileLifetimeS.min,
          maximum: fileLifetimeS.openai,
          description: 'Lifetime; without it the file stays until it is deleted',
        }),
      ),
      expires_in_seconds: Type.Optional(
        Type.Integer({
          minimum: fileLifetimeS.min,
          maximum: fileLifetimeS.anthropic,
          description: 'The lifetime in Anthropic’s format',
        }),
      ),
    }),
    responses: { 200: Type.Union([OpenAiFile, AnthropicFile]) },
    summary: 'Upload a file',
    description: `Stores a file for model requests, prompts of sessions and batches. The body is written to the store while it arrives. Only the principal of the key sees the file; all its files together are limited by \`limits.files_bytes\`. Accepts \`Idempotency-Key\`. ${shapes}`,
  }),
  list: route({
    ...base,
    id: 'stored_files.list',
    method: 'GET',
    path: '/v1/files',
    query: Type.Object({
      limit: Type.Optional(
        Type.Integer({
          minimum: 1,
          maximum: 10_000,
          description: 'Page size: 20 by default and at most 1,000 in Anthropic’s format, otherwise 10,000',
        }),
      ),
      after: Id('OpenAI’s format: files after this one'),
      order: Type.Optional(
        Type.Union([Type.Literal('asc'), Type.Literal('desc')], {
          description: 'OpenAI’s format: by time of creation; `desc` by default',
        }),
      ),
      purpose: Type.Optional(Type.String({ maxLength: 100, description: 'OpenAI’s format: files with this purpose' })),
      after_id: Id('Anthropic’s format: files after this one'),
      before_id: Id('Anthropic’s format: files before this one'),
      page: Id('Anthropic’s format: `next_page` of the previous page'),
      'ids[]': Type.Optional(
        Type.Union([Type.String(), Type.Array(Type.String(), { maxItems: maxIds })], {
          description: 'Anthropic’s format: only these files, in one page',
        }),
      ),
      scope_id: Type.Optional(Type.String({ description: 'Not supported: files have no scope' })),
    }),
    responses: {
      200: Type.Union([
        Type.Object({ object: Type.Literal('list'), data: Type.Array(OpenAiFile), ...page }),
        Type.Object({ data: Type.Array(AnthropicFile), ...page, next_page: Nullable(Type.String()) }),
      ]),
    },
    summary: 'List files',
    description: `Lists the files of the key’s principal, newest first. ${shapes}`,
  }),
  get: route({
    ...base,
    id: 'stored_files.get',
    method: 'GET',
    path: '/v1/files/{file_id}',
    params: FilePath,
    responses: { 200: Type.Union([OpenAiFile, AnthropicFile]) },
    summary: 'Get a file',
    description: `Returns name, size and type of a file. ${shapes}`,
  }),
  content: route({
    ...base,
    id: 'stored_files.content',
    method: 'GET',
    path: '/v1/files/{file_id}/content',
    params: FilePath,
    responses: { 200: Type.Unknown({ description: 'The bytes of the file' }) },
    produces: 'application/octet-stream',
    summary: 'Download a file',
    description: 'Returns the bytes of a file, as a download.',
  }),
  remove: route({
    ...base,
    id: 'stored_files.remove',
    method: 'DELETE',
    path: '/v1/files/{file_id}',
    params: FilePath,
    responses: {
      200: Type.Union([
        Type.Object({ id: Type.String(), object: Type.Literal('file'), deleted: Type.Literal(true) }),
        Type.Object({ id: Type.String(), type: Type.Literal('file_deleted') }),
      ]),
    },
    summary: 'Delete a file',
    description: `Deletes a file; its content is deleted within a minute. Prompts of sessions have their own copy. ${shapes}`,
  }),
} as const
