import { flag, readJsonShape, type Shape, seconds, text, texts, whole } from './yaml-shape.ts'

/** Parameters of a model in the file. Gaps: section 2. */
export interface ModelParams {
  readonly model: string
  readonly api_base?: string
  readonly api_key?: string
  readonly base_model?: string
  readonly capabilities?: Partial<Record<'reasoning' | 'vision' | 'pdf_input' | 'function_calling', boolean>> &
    Partial<Record<'context_window' | 'max_output_tokens', number>>
  /** Pins one protocol. */
  readonly protocol?: string
  readonly protocols?: readonly (string | undefined)[]
  readonly weight?: number
  readonly headers?: Readonly<Record<string, string>>
  readonly timeouts?: Readonly<Record<'connect_ms' | 'first_byte_ms' | 'idle_ms' | 'total_ms', number | undefined>>
  /** Seconds, as in LiteLLM. */
  readonly timeout?: number
  readonly stream_timeout?: number
  readonly rpm?: number
  readonly tpm?: number
  readonly max_parallel?: number
  readonly input_cost_per_token?: number
  readonly output_cost_per_token?: number
  readonly cache_read_input_token_cost?: number
  readonly cache_creation_input_token_cost?: number
  readonly cache_creation_input_token_cost_above_1hr?: number
  readonly input_cost_per_character?: number
  readonly input_cost_per_second?: number
  readonly output_cost_per_image?: number
  readonly input_cost_per_query?: number
  readonly web_search_cost_per_query?: number
  readonly log_bodies?: { readonly until?: string }
  readonly aws_region_name?: string
  readonly aws_access_key_id?: string
  readonly aws_secret_access_key?: string
  readonly aws_session_token?: string
  readonly vertex_project?: string
  readonly vertex_location?: string
  readonly vertex_credentials?: string
  readonly cache?: { readonly ttl?: string }
  readonly deny?: readonly (string | undefined)[]
}

/** An entry of `model_list` with exactly one of the two parameter blocks. `model_info` comes from LiteLLM. */
export interface ModelEntry {
  readonly model_name: string
  readonly params?: ModelParams
  readonly litellm_params?: ModelParams
  readonly model_info?: { readonly base_model?: string }
}

const capabilities: Shape = {
  kind: 'block',
  keys: {
    reasoning: flag,
    vision: flag,
    pdf_input: flag,
    function_calling: flag,
    context_window: whole,
    max_output_tokens: whole,
  },
}

const price: Shape = { kind: 'number', min: 0 }

const params: Shape = {
  kind: 'block',
  keys: {
    model: text,
    base_model: text,
    capabilities,
    api_base: text,
    api_key: text,
    protocol: text,
    protocols: texts,
    weight: { kind: 'number', min: 0 },
    headers: { kind: 'by name', of: text },
    timeouts: { kind: 'block', keys: { connect_ms: whole, first_byte_ms: whole, idle_ms: whole, total_ms: whole } },
    timeout: seconds,
    stream_timeout: seconds,
    rpm: whole,
    tpm: whole,
    max_parallel: whole,
    input_cost_per_token: price,
    output_cost_per_token: price,
    cache_read_input_token_cost: price,
    cache_creation_input_token_cost: price,
    cache_creation_input_token_cost_above_1hr: price,
    input_cost_per_character: price,
    input_cost_per_second: price,
    output_cost_per_image: price,
    input_cost_per_query: price,
    web_search_cost_per_query: price,
    log_bodies: { kind: 'block', keys: { until: text } },
    aws_region_name: text,
    aws_access_key_id: text,
    aws_secret_access_key: text,
    aws_session_token: text,
    vertex_project: text,
    vertex_location: text,
    vertex_credentials: text,
    cache: { kind: 'block', keys: { ttl: text } },
    deny: texts,
  },
}

/** Shape of an entry of `model_list`. */
export const modelEntry: Shape = {
  kind: 'block',
  keys: {
    model_name: text,
    params,
    litellm_params: params,
    model_info: { kind: 'block', keys: { base_model: text }, ignoresOthers: true },
  },
}

/** Reads a model in JSON like an entry of the file, except that its texts cannot refer to environment variables. */
export const readModelEntry = (value: unknown, report: (problem: string) => void): Partial<ModelEntry> =>
  // Safe: the value was built from the shape of an entry.
  (readJsonShape(value, modelEntry, report) ?? {}) as Partial<ModelEntry>
