import { type Static, Type } from 'typebox'
import { named } from './named.ts'
import { route } from './route.ts'
import { Nullable } from './schemas.ts'

const rates = {
  input: Type.Number(),
  output: Nullable(Type.Number({ description: 'null: unknown' })),
  cache_read: Type.Number(),
  cache_write_5m: Type.Number(),
  cache_write_1h: Type.Number(),
}

/** Prices of tokens, in US dollars per million. A tier applies to the whole call when its input exceeds the tier's threshold. */
export const ModelPricing = named(
  'ModelPricing',
  Type.Object({
    ...rates,
    tiers: Type.Optional(Type.Array(Type.Object({ above_input_tokens: Type.Integer(), ...rates }))),
    source: Type.Union([Type.Literal('config'), Type.Literal('import'), Type.Literal('catalogue')], {
      description: 'Source of the price: the configuration of the model, an imported price list, or the built-in one',
    }),
  }),
)
export type ModelPricing = Static<typeof ModelPricing>

/** Model in a format that both Anthropic's and OpenAI's clients read. Gaps: section 7. */
export const Model = named(
  'Model',
  Type.Object({
    id: Type.String(),
    object: Type.Literal('model'),
    type: Type.Literal('model'),
    display_name: Type.String(),
    created: Type.Integer({ description: 'Seconds since 1970' }),
    created_at: Type.String({ format: 'date-time' }),
    owned_by: Type.String(),
    context_window: Type.Optional(Type.Integer()),
    max_output_tokens: Type.Optional(Type.Integer()),
    pricing: Nullable(ModelPricing),
  }),
)
export type Model = Static<typeof Model>

/** State of one upstream of a model, as seen by the process that responds. */
export const DeploymentState = named(
  'DeploymentState',
  Type.Object({
    id: Type.String(),
    state: Type.Union([Type.Literal('healthy'), Type.Literal('cooling'), Type.Literal('probing')], {
      description: 'cooling: cooling down after failures; probing: one call may test it',
    }),
    cooling_until: Nullable(Type.String({ format: 'date-time' })),
    last_error: Nullable(
      Type.String({ description: 'An error such as http_429 or upstream_timeout; stays after a recovery' }),
    ),
    calls: Type.Integer({ description: 'Calls in flight' }),
  }),
)
export type DeploymentState = Static<typeof DeploymentState>

/** Model with the state of its upstreams. */
export const ModelDetails = named(
  'ModelDetails',
  Type.Object({
    ...Model.properties,
    deployments: Type.Optional(Type.Array(DeploymentState)),
  }),
)

const Flag = Nullable(Type.Boolean())
const Count = Nullable(Type.Integer())
const PerToken = Nullable(Type.Number({ description: 'US dollars per token' }))

/** Model in LiteLLM's format. null: unknown. */
export const ModelInfo = named(
  'ModelInfo',
  Type.Object({
    model_name: Type.String(),
    litellm_params: Type.Object({ model: Type.String({ description: 'Model of the upstream, as `provider/model`' }) }),
    model_info: Type.Object({
      id: Type.String({ description: 'Id of the first deployment of the model, which the figures describe' }),
      key: Type.String({ description: 'Name of the model at the upstream; an ARN without its account number' }),
      base_model: Nullable(
        Type.String({
          description: 'Configured `base_model`, which determines the figures',
        }),
      ),
      db_model: Type.Literal(false),
      max_tokens: Count,
      max_input_tokens: Count,
      max_output_tokens: Count,
      input_cost_per_token: PerToken,
      output_cost_per_token: PerToken,
      cache_read_input_token_cost: PerToken,
      cache_creation_input_token_cost: PerToken,
      cache_creation_input_token_cost_above_1hr: PerToken,
      litellm_provider: Type.String(),
      mode: Type.Union([Type.Literal('chat'), Type.Literal('embedding')]),
      supports_vision: Flag,
      supports_function_calling: Flag,
      supports_tool_choice: Flag,
      supports_pdf_input: Flag,
      supports_reasoning: Flag,
      supports_prompt_caching: Flag,
    }),
  }),
)
export type ModelInfo = Static<typeof ModelInfo>

const base = { access: 'key', errorShape: 'anthropic', isForPrograms: true } as const

export const modelRoutes = {
  list: route({
    ...base,
    id: 'models.list',
    method: 'GET',
    path: '/v1/models',
    aliases: ['/models'],
    query: Type.Object({
      limit: Type.Optional(
        Type.Integer({
          minimum: 1,
          maximum: 1000,
          description: 'Page size. By default 20 with an anthropic-version header, otherwise all models',
        }),
      ),
      after_id: Type.Optional(Type.String({ maxLength: 300 })),
      before_id: Type.Optional(Type.String({ maxLength: 300 })),
      runtime: Type.Optional(Type.String({ maxLength: 200 })),
      beta: Type.Optional(Type.Unknown()),
    }),
    responses: {
      200: Type.Object({
        object: Type.Literal('list'),
        data: Type.Array(Model),
        has_more: Type.Boolean(),
        first_id: Nullable(Type.String()),
        last_id: Nullable(Type.String()),
      }),
    },
    summary: 'List models',
    description:
      'Lists the models that this key may use, with the fields that Anthropic’s and OpenAI’s clients read. Requests with `anthropic-version` receive pages; others receive the whole list unless they send `limit`.',
  }),
  get: route({
    ...base,
    id: 'models.get',
    method: 'GET',
    path: '/v1/models/{model_id}',
    aliases: ['/models/{model_id}'],
    params: Type.Object({ model_id: Type.String() }),
    responses: { 200: ModelDetails },
    summary: 'Read a model',
    description:
      'Returns one model with its context window, its prices and the state of its deployments. Answers 404 for a model that the key may not use.',
  }),
  info: route({
    ...base,
    id: 'models.info',
    errorShape: 'openai',
    method: 'GET',
    path: '/v1/model/info',
    aliases: ['/model/info'],
    query: Type.Object({
      litellm_model_id: Type.Optional(Type.String({ maxLength: 300, description: '`model_info.id` of one model' })),
    }),
    responses: { 200: Type.Object({ data: Type.Array(ModelInfo) }) },
    summary: 'List model limits and prices',
    description:
      'Lists limits, prices and capabilities of the models that this key may use, in the shape of LiteLLM’s `/model/info`.',
  }),
}
