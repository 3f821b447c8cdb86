import { type Static, Type } from 'typebox'
import { CacheSettings, LogBodies } from './keys.ts'
import { named } from './named.ts'
import { ServiceAccount, Source } from './providers.ts'
import { route } from './route.ts'
import { JsonObject, NextCursor, Nullable, pageQuery } from './schemas.ts'

const Text = Type.String({ maxLength: 10_000 })
const optional = <S extends Parameters<typeof Nullable>[0]>(schema: S) => Type.Optional(Nullable(schema))
const text = optional(Text)
const number = optional(Type.Number({ minimum: 0 }))
const count = optional(Type.Integer({ minimum: 1 }))

const flag = Type.Optional(Type.Boolean())

const Capabilities = named(
  'ModelCapabilities',
  Type.Object(
    {
      reasoning: Type.Optional(
        Type.Boolean({ description: 'false: translated calls never request reasoning; true: they may' }),
      ),
      vision: flag,
      pdf_input: flag,
      function_calling: flag,
      context_window: Type.Optional(Type.Integer({ minimum: 1, description: 'Tokens' })),
      max_output_tokens: Type.Optional(Type.Integer({ minimum: 1, description: 'Maximum tokens of an answer' })),
    },
    {
      additionalProperties: true,
      description: 'Capabilities of the model; they take precedence over those derived from names and price lists',
    },
  ),
)

/** Upstream of a model, as `params` of the configuration file. null has the effect of an absent field. */
export const ModelParams = named(
  'ModelParams',
  Type.Object(
    {
      model: optional(Type.String({ maxLength: 500, description: '`<provider>/<upstream id>`' })),
      base_model: optional(
        Type.String({
          maxLength: 300,
          description:
            'Model behind `model` when its name differs, such as `gpt-5.5` or `openai/gpt-5.5`; determines prices, limits and reasoning',
        }),
      ),
      capabilities: optional(Capabilities),
      api_base: text,
      api_key: text,
      protocol: text,
      protocols: optional(Type.Array(Text, { maxItems: 20 })),
      weight: number,
      headers: optional(Type.Record(Type.String(), Text)),
      timeouts: optional(Type.Record(Type.String(), Type.Integer({ minimum: 1 }))),
      timeout: number,
      stream_timeout: number,
      rpm: count,
      tpm: count,
      max_parallel: count,
      input_cost_per_token: number,
      output_cost_per_token: number,
      cache_read_input_token_cost: number,
      cache_creation_input_token_cost: number,
      cache_creation_input_token_cost_above_1hr: number,
      input_cost_per_character: number,
      input_cost_per_second: number,
      output_cost_per_image: number,
      input_cost_per_query: number,
      web_search_cost_per_query: number,
      cache: optional(CacheSettings),
      log_bodies: optional(LogBodies),
      aws_region_name: text,
      aws_access_key_id: text,
      aws_secret_access_key: text,
      aws_session_token: text,
      vertex_project: text,
      vertex_location: text,
      vertex_credentials: optional(ServiceAccount),
      deny: optional(Type.Array(Type.String({ maxLength: 200 }), { maxItems: 200 })),
    },
    { additionalProperties: true },
  ),
)
export type ModelParams = Static<typeof ModelParams>

/** A model name for clients, with one upstream that serves it. */
export const ModelSetting = named(
  'ModelSetting',
  Type.Object({
    id: Type.String({ description: 'Also `x-switchyard-deployment` in the responses that it serves' }),
    model_name: Type.String({ description: 'Calls are distributed by weight over the entries of one name' }),
    params: Type.Unsafe<Readonly<Record<string, unknown>>>({
      ...JsonObject,
      description: 'As given; of secrets only the last four characters',
    }),
    source: Source,
    locked: Type.Boolean({ description: 'Set outside of this API, so it can only be changed there' }),
    error: Nullable(Type.String({ description: 'Reason why it serves no calls' })),
    created_by: Nullable(Type.String({ description: 'Principal' })),
    created_at: Nullable(Type.String({ format: 'date-time' })),
    updated_at: Nullable(Type.String({ format: 'date-time' })),
  }),
)
export type ModelSetting = Static<typeof ModelSetting>

const fields = {
  model_name: Type.Optional(
    Type.String({ maxLength: 200, description: 'A name such as `sonnet`; it may end with `*`, as in `provider/*`' }),
  ),
  params: Type.Optional(ModelParams),
  litellm_params: Type.Optional({ ...ModelParams, description: 'Alternative name of `params`' }),
}

/** Body of create and update. In an update, absent fields and parameters stay unchanged; null removes a parameter. */
export const ModelSettingWrite = named('ModelSettingWrite', Type.Object(fields))
export type ModelSettingWrite = Static<typeof ModelSettingWrite>

const ModelPath = Type.Object({ model_id: Type.String() })
const base = { access: 'admin', errorShape: 'nested' } as const
const written = { ...base, body: ModelSettingWrite, bodyLimit: 64 * 1024 } as const

export const modelSettingRoutes = {
  list: route({
    ...base,
    id: 'model_settings.list',
    method: 'GET',
    path: '/api/models',
    query: Type.Object({ ...pageQuery }),
    responses: { 200: Type.Object({ models: Type.Array(ModelSetting), next_cursor: NextCursor }) },
    summary: 'List model settings',
    description:
      'Lists the models with their settings: those of the configuration first, then those added at run time.',
  }),
  create: route({
    ...written,
    id: 'model_settings.create',
    method: 'POST',
    path: '/api/models',
    responses: { 201: ModelSetting },
    summary: 'Add a model',
    description: 'Adds a model that can be called at once, on every replica.',
  }),
  get: route({
    ...base,
    id: 'model_settings.get',
    method: 'GET',
    path: '/api/models/{model_id}',
    params: ModelPath,
    responses: { 200: ModelSetting },
    summary: 'Read the settings of a model',
    description: 'Returns the settings of one model. Secrets are shown as their last four characters.',
  }),
  update: route({
    ...written,
    id: 'model_settings.update',
    method: 'PATCH',
    path: '/api/models/{model_id}',
    params: ModelPath,
    responses: { 200: ModelSetting },
    summary: 'Change a model',
    description: 'Changes a model. Absent fields and parameters stay unchanged; a parameter of null is removed.',
  }),
  remove: route({
    ...base,
    id: 'model_settings.remove',
    method: 'DELETE',
    path: '/api/models/{model_id}',
    params: ModelPath,
    responses: { 200: Type.Object({ ok: Type.Literal(true) }) },
    summary: 'Remove a model',
    description: 'Removes a model. Calls in flight end as they began.',
  }),
}
