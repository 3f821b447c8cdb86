import { isRecord, type Json, recordOf } from '../platform/json.ts'
import { keyVariableOf, targetOf } from './provider.ts'
import type { ImportReport } from './report.ts'
import type { SecretReferences } from './secrets.ts'

/** An entry of `model_list` of this service. */
export interface ConvertedModel {
  readonly model_name: string
  readonly params: Readonly<Record<string, unknown>>
}

interface Deps {
  readonly report: ImportReport
  readonly secrets: SecretReferences
  /** Blocks of `credential_list` by name. */
  readonly credentials: ReadonlyMap<string, Json>
  /** Timeouts of LiteLLM for all models. */
  readonly timeouts: Readonly<Record<string, unknown>>
}

/** Parameters with the same meaning, by LiteLLM's name. */
const renamed: Readonly<Record<string, string>> = {
  api_base: 'api_base',
  api_key: 'api_key',
  rpm: 'rpm',
  tpm: 'tpm',
  weight: 'weight',
  timeout: 'timeout',
  stream_timeout: 'stream_timeout',
  max_parallel_requests: 'max_parallel',
  extra_headers: 'headers',
  base_model: 'base_model',
  aws_region_name: 'aws_region_name',
  region_name: 'aws_region_name',
  aws_access_key_id: 'aws_access_key_id',
  aws_secret_access_key: 'aws_secret_access_key',
  aws_session_token: 'aws_session_token',
  vertex_project: 'vertex_project',
  vertex_location: 'vertex_location',
  vertex_credentials: 'vertex_credentials',
  input_cost_per_token: 'input_cost_per_token',
  output_cost_per_token: 'output_cost_per_token',
  cache_read_input_token_cost: 'cache_read_input_token_cost',
  cache_creation_input_token_cost: 'cache_creation_input_token_cost',
  cache_creation_input_token_cost_above_1hr: 'cache_creation_input_token_cost_above_1hr',
  input_cost_per_audio_token: 'input_cost_per_audio_token',
  output_cost_per_audio_token: 'output_cost_per_audio_token',
  cache_read_input_audio_token_cost: 'cache_read_input_audio_token_cost',
  input_cost_per_character: 'input_cost_per_character',
  input_cost_per_second: 'input_cost_per_second',
  output_cost_per_image: 'output_cost_per_image',
  input_cost_per_query: 'input_cost_per_query',
}

const secretNames = new Set([
  'api_key',
  'aws_access_key_id',
  'aws_secret_access_key',
  'aws_session_token',
  'vertex_credentials',
])

/** Read elsewhere in this file. */
const handled = new Set(['model', 'custom_llm_provider', 'litellm_credential_name', 'organization', 'api_version'])

/** Settings that this service does not need. */
const needless: Readonly<Record<string, string>> = {
  drop_params: 'translation drops what a model does not accept, and reports it in x-switchyard-degraded',
  max_retries: 'router.retries applies to all models',
  num_retries: 'router.retries applies to all models',
  merge_reasoning_content_in_choices: 'reasoning keeps its own fields',
  use_in_pass_through: 'keys with `passthrough` reach the API of the provider',
}

const sampling = new Set([
  'temperature',
  'top_p',
  'max_tokens',
  'seed',
  'stop',
  'presence_penalty',
  'frequency_penalty',
])

/** Returns an entry of `model_list`; undefined where its model cannot be served. */
export function convertModel(entry: unknown, index: number, deps: Deps): ConvertedModel | undefined {
  const { report } = deps
  const place = `model_list[${index}]`
  const { model_name: name, litellm_params: given, model_info: info } = recordOf(entry)
  const params = withCredential(recordOf(given), place, deps)
  const { model, custom_llm_provider: custom, api_base: base } = params
  if (typeof name !== 'string' || typeof model !== 'string') {
    report.unsupported(place, 'model_name or litellm_params.model is missing', 'complete or remove the entry')
    return undefined
  }
  const provider = typeof custom === 'string' ? custom : undefined
  const target = targetOf(model, provider, typeof base === 'string' ? base : undefined)
  if (typeof target === 'string') {
    report.unsupported(
      `${place}.litellm_params.model`,
      `${model}: ${target}; the model is left out`,
      'add it as openai-compatible with its api_base, or as another supported provider',
    )
    return undefined
  }
  const variable = keyVariableOf(model, provider)
  const converted: Record<string, unknown> = {
    ...deps.timeouts,
    ...(variable !== undefined && { api_key: `os.environ/${variable}` }),
    ...paramsOf(params, { ...deps, place, name }),
    model: target.model,
    ...(target.baseModel !== undefined && { base_model: target.baseModel }),
    ...(target.apiBase !== undefined && { api_base: target.apiBase }),
    ...(target.protocol !== undefined && { protocol: target.protocol }),
    ...(target.region !== undefined && { aws_region_name: target.region }),
    ...infoOf(recordOf(info), place, report),
  }
  reportUnpriced(place, converted, report)
  if (target.remark !== undefined) report.approximated(`${place}.litellm_params.api_base`, target.remark, target.remark)
  report.carried(place, `${name} is served by ${target.model}`)
  return { model_name: name, params: converted }
}

/** LiteLLM books calls of unknown models as free; here a key with a budget cannot call them. */
function reportUnpriced(place: string, params: Json, report: ImportReport): void {
  const isKnown = 'base_model' in params || 'input_cost_per_token' in params
  if (isKnown || !String(params['model']).startsWith('openai-compatible/')) return
  report.approximated(
    `${place}.model_info`,
    'prices and limits of this model are not known; keys with limits need them',
    'set input_cost_per_token, output_cost_per_token and capabilities.max_output_tokens, or base_model',
  )
}

/** Adds the values of a named credential, which the entry overrides. */
function withCredential(params: Json, place: string, { report, credentials }: Deps): Json {
  const { litellm_credential_name: name } = params
  if (typeof name !== 'string') return params
  const values = credentials.get(name)
  if (values) return { ...values, ...params }
  report.unsupported(
    `${place}.litellm_params.litellm_credential_name`,
    `credential ${name} is not in credential_list; LiteLLM stores it encrypted in its database`,
    'set api_key of the model',
  )
  return params
}

interface Place extends Deps {
  readonly place: string
  readonly name: string
}

function paramsOf(params: Json, { report, secrets, place, name }: Place): Record<string, unknown> {
  const found: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(params)) {
    const setting = `${place}.litellm_params.${key}`
    const own = Object.hasOwn(renamed, key) ? renamed[key] : undefined
    if (value === null || handled.has(key)) continue
    if (own !== undefined) {
      const isSecret = secretNames.has(key)
      found[own] = isSecret ? secrets.moved(value, { setting, variable: `${name}_${key}` }) : value
    } else reportParam(setting, key, report)
  }
  const { organization, api_version: version } = params
  if (typeof organization === 'string')
    found['headers'] = { ...recordOf(found['headers']), 'openai-organization': organization }
  if (version !== undefined)
    report.approximated(`${place}.litellm_params.api_version`, 'Azure is called by its v1 API, which has no version')
  return withHeaders(found, `${place}.litellm_params.extra_headers`, secrets, name)
}

/** Headers often carry credentials. */
function withHeaders(found: Record<string, unknown>, setting: string, secrets: SecretReferences, name: string) {
  const { headers } = found
  if (!isRecord(headers)) return found
  const moved = Object.entries(headers).map(([header, value]) => {
    const isSecret = /auth|key|token|secret|cookie/i.test(header)
    return [
      header,
      isSecret ? secrets.moved(value, { setting: `${setting}.${header}`, variable: `${name}_${header}` }) : value,
    ]
  })
  return { ...found, headers: Object.fromEntries(moved) }
}

function reportParam(setting: string, key: string, report: ImportReport): void {
  const reason = Object.hasOwn(needless, key) ? needless[key] : undefined
  if (reason !== undefined) report.carried(setting, `not needed: ${reason}`)
  else if (sampling.has(key))
    report.unsupported(
      setting,
      'a model has no defaults for requests',
      'send it in requests, or set config.model_settings of agents',
    )
  else report.unsupported(setting, 'has no counterpart', 'check whether the model works without it')
}

/** Fields of `model_info` that are parameters here. */
const capabilities: Readonly<Record<string, string>> = {
  max_input_tokens: 'context_window',
  max_output_tokens: 'max_output_tokens',
  supports_vision: 'vision',
  supports_pdf_input: 'pdf_input',
  supports_function_calling: 'function_calling',
  supports_reasoning: 'reasoning',
}

const informative = new Set([
  'id',
  'mode',
  'db_model',
  'description',
  'team_id',
  'created_at',
  'updated_at',
  'max_tokens',
])

function infoOf(info: Json, place: string, report: ImportReport): Record<string, unknown> {
  const found: Record<string, unknown> = {}
  const able: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(info)) {
    const capability = Object.hasOwn(capabilities, key) ? capabilities[key] : undefined
    const isPrice = /_cost/.test(key) && Object.hasOwn(renamed, key)
    if (value === null) continue
    if (capability !== undefined) able[capability] = value
    else if (key === 'base_model' || isPrice) found[key] = value
    else if (!informative.has(key))
      report.unsupported(`${place}.model_info.${key}`, 'has no counterpart', 'check whether clients read it')
  }
  return { ...found, ...(Object.keys(able).length > 0 && { capabilities: able }) }
}
