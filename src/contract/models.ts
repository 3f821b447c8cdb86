import { type Static, Type } from 'typebox'
import { named } from './named.ts'
import { route } from './route.ts'
import { Nullable } from './schemas.ts'

const rates = {
  input: Type.Number(),
  output: Nullable(Type.Number({ description: 'null: not known' })),
  cache_read: Type.Number(),
  cache_write_5m: Type.Number(),
  cache_write_1h: Type.Number(),
}

/** What tokens cost, in US dollars per million. A tier holds for the whole of a call with more input than it names. */
export const ModelPricing = named(
  'ModelPricing',
  Type.Object({
    ...rates,
    tiers: Type.Optional(Type.Array(Type.Object({ above_input_tokens: Type.Integer(), ...rates }))),
    source: Type.Union([Type.Literal('config'), Type.Literal('import'), Type.Literal('catalogue')], {
      description: 'Who says so: the model’s own configuration, an imported price list, or the built-in one',
    }),
  }),
)
export type ModelPricing = Static<typeof ModelPricing>

/** A model as both Anthropic's and OpenAI's clients read it. Gaps: section 7. */
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

/** How one upstream of a model does, seen from the process that answers. */
export const DeploymentState = named(
  'DeploymentState',
  Type.Object({
    id: Type.String(),
    state: Type.Union([Type.Literal('healthy'), Type.Literal('cooling'), Type.Literal('probing')], {
      description: 'cooling: out after failures; probing: one call may try it',
    }),
    cooling_until: Nullable(Type.String({ format: 'date-time' })),
    last_error: Nullable(Type.String({ description: 'Such as http_429 or upstream_timeout; stays after a recovery' })),
    calls: Type.Integer({ description: 'Calls in flight' }),
  }),
)
export type DeploymentState = Static<typeof DeploymentState>

/** One model with the state of what serves it. */
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

/** A model as LiteLLM's clients read it. null: not known. */
export const ModelInfo = named(
  'ModelInfo',
  Type.Object({
    model_name: Type.String(),
    litellm_params: Type.Object({ model: Type.String({ description: '`provider/model`, as the upstream is called' }) }),
    model_info: Type.Object({
      id: Type.String({ description: 'Of the first deployment of the model, which the figures describe' }),
      key: Type.String({ description: 'The name of the model upstream; an ARN without the number of its account' }),
      base_model: Nullable(
        Type.String({
          description: 'The model behind that name, as it is configured; the figures are those of this model',
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
          description: 'Models of a page. Without it: 20 with an anthropic-version header, else all',
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
      'Lists the models that this key may use. The shape follows the client: Anthropic’s when the request has `anthropic-version`, else OpenAI’s.',
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
      'Returns one model with its context window, prices and supported formats. Answers 404 for a model that the key may not use.',
  }),
  info: route({
    ...base,
    id: 'models.info',
    errorShape: 'openai',
    method: 'GET',
    path: '/v1/model/info',
    aliases: ['/model/info'],
    query: Type.Object({
      litellm_model_id: Type.Optional(Type.String({ maxLength: 300, description: 'The `model_info.id` of one model' })),
    }),
    responses: { 200: Type.Object({ data: Type.Array(ModelInfo) }) },
    summary: 'List model limits and prices',
    description:
      'Lists limits, prices and capabilities of the models that this key may use, in the shape of LiteLLM’s `/model/info`.',
  }),
}
