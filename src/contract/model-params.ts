import { type Static, Type } from 'typebox'
import { CacheSettings, LogBodies } from './keys.ts'
import { named } from './named.ts'
import { ServiceAccount } from './providers.ts'

const text = Type.String({ maxLength: 10_000 })
const amount = Type.Number({ minimum: 0 })
const seconds = Type.Number({ minimum: 0.001 })
const count = Type.Integer({ minimum: 1 })
const flag = Type.Optional(Type.Boolean())
const milliseconds = Type.Optional(count)

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

/**
 * Parameters of a model's upstream. The API and the configuration file accept the same ones: body, shape of the file and
 * types follow from these schemas. Gaps: section 2.
 */
export const modelParams = {
  model: Type.String({ maxLength: 500, description: '`<provider>/<upstream id>`' }),
  base_model: Type.String({
    maxLength: 300,
    description:
      'Model behind `model` when its name differs, such as `gpt-5.5` or `openai/gpt-5.5`; determines prices, limits and reasoning',
  }),
  capabilities: Capabilities,
  api_base: text,
  api_key: text,
  protocol: text,
  protocols: Type.Array(text, { maxItems: 20 }),
  weight: amount,
  headers: Type.Record(Type.String(), text),
  timeouts: Type.Object(
    { connect_ms: milliseconds, first_byte_ms: milliseconds, idle_ms: milliseconds, total_ms: milliseconds },
    { additionalProperties: true },
  ),
  timeout: seconds,
  stream_timeout: seconds,
  rpm: count,
  tpm: count,
  max_parallel: count,
  input_cost_per_token: amount,
  output_cost_per_token: amount,
  cache_read_input_token_cost: amount,
  cache_creation_input_token_cost: amount,
  cache_creation_input_token_cost_above_1hr: amount,
  input_cost_per_audio_token: amount,
  output_cost_per_audio_token: amount,
  cache_read_input_audio_token_cost: amount,
  input_cost_per_character: amount,
  input_cost_per_second: amount,
  output_cost_per_image: amount,
  input_cost_per_query: amount,
  web_search_cost_per_query: amount,
  batch_api: Type.Boolean({
    description:
      'Whether batches use the batch API of the provider, at its lower price. By default true for `api.anthropic.com` and `api.openai.com`, else false',
  }),
  batch_price_factor: Type.Number({
    minimum: 0,
    description: 'Price of the batch API as a share of the usual price; 0.5 by default',
  }),
  cache: CacheSettings,
  log_bodies: LogBodies,
  aws_region_name: text,
  aws_access_key_id: text,
  aws_secret_access_key: text,
  aws_session_token: text,
  vertex_project: text,
  vertex_location: text,
  vertex_credentials: ServiceAccount,
  deny: Type.Array(Type.String({ maxLength: 200 }), { maxItems: 200 }),
}

export type ModelParamName = keyof typeof modelParams

/** Values of the parameters. */
export type ModelParamValues = { readonly [Name in ModelParamName]: Static<(typeof modelParams)[Name]> }

/** Parameters that are a credential. */
export const credentialParams: readonly ModelParamName[] = [
  'api_key',
  'aws_access_key_id',
  'aws_secret_access_key',
  'aws_session_token',
  'vertex_credentials',
]
