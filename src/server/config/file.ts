import { readFileSync } from 'node:fs'
import { isNode, LineCounter, type Node, parseDocument } from 'yaml'
import { readJsonShape, readShape, type Shape } from './yaml-shape.ts'

/** Where in the configuration file something stands. */
export interface Place {
  readonly line: number
}

/** One thing that is wrong; without a place it is not the file's fault. */
export interface Problem {
  readonly text: string
  readonly place: Place | undefined
}

/** Reports `text`, which goes on after the name of a block of the file, at a path inside that block. */
export type Say = (text: string, ...path: (string | number)[]) => void

/** The upstream side of a model, as the file spells it. Gaps: section 2. */
export interface ModelParams {
  readonly model: string
  readonly api_base?: string
  readonly api_key?: string
  readonly base_model?: string
  readonly capabilities?: Partial<Record<'reasoning' | 'vision' | 'pdf_input' | 'function_calling', boolean>> &
    Partial<Record<'context_window' | 'max_output_tokens', number>>
  /** Pins one. */
  readonly protocol?: string
  readonly protocols?: readonly (string | undefined)[]
  readonly weight?: number
  readonly headers?: Readonly<Record<string, string>>
  readonly timeouts?: Readonly<Record<'connect_ms' | 'first_byte_ms' | 'idle_ms' | 'total_ms', number | undefined>>
  /** Seconds, as LiteLLM has them. */
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
  readonly aws_region_name?: string
  readonly aws_access_key_id?: string
  readonly aws_secret_access_key?: string
  readonly aws_session_token?: string
  readonly vertex_project?: string
  readonly vertex_location?: string
  readonly vertex_credentials?: string
  readonly deny?: readonly (string | undefined)[]
}

/** One entry of `model_list`; exactly one of the two parameter blocks is there. */
export interface ModelEntry {
  readonly model_name: string
  readonly params?: ModelParams
  readonly litellm_params?: ModelParams
}

/** One entry of `runtime_harnesses`. */
export interface HarnessEntry {
  readonly alias: string
  readonly api_spec: string
  readonly api_base?: string
  readonly api_key?: string
  readonly display_name?: string
  readonly command?: readonly (string | undefined)[]
  readonly env?: Readonly<Record<string, string | undefined>>
  readonly sandbox?: string
}

type FallbackTable = Readonly<Record<string, readonly (string | undefined)[] | undefined>>

interface RouterBlock {
  readonly retries?: number
  readonly cooldown?: { readonly failures?: number; readonly window_s?: number; readonly seconds?: number }
  readonly fallbacks?: FallbackTable
  readonly context_window_fallbacks?: FallbackTable
  readonly policy_fallbacks?: FallbackTable
  readonly sticky?: boolean
}

interface FileValue {
  readonly general_settings?: {
    readonly master_key?: string
    readonly public_url?: string
    readonly trust_proxy?: readonly (string | undefined)[]
  }
  readonly model_list?: readonly ModelEntry[]
  readonly runtime_harnesses?: readonly (Partial<HarnessEntry> | undefined)[]
  readonly outbound?: { readonly allow?: readonly string[] }
  readonly limits?: {
    readonly max_streams?: number
    readonly max_sessions?: number
    readonly max_loop_delay_ms?: number
    readonly reserve_bytes_per_token?: number
    readonly reserve_server_tool_calls?: number
    readonly assumed_output_tokens_per_second?: number
    readonly reservation_s?: number
    readonly sandbox_cpus?: number
  }
  readonly retention?: Partial<
    Record<'deleted_sessions' | 'deliveries' | 'sessions' | 'ledger' | 'audit', string | undefined>
  >
  readonly responses?: { readonly store?: string }
  readonly router?: RouterBlock
  readonly logging?: { readonly requests?: string; readonly sample?: number }
  readonly prices?: { readonly import?: readonly (string | undefined)[]; readonly unknown?: string }
  readonly demo?: boolean
}

/** A read file: its value, and the line of every path in it. */
export interface ConfigFile {
  readonly value: FileValue
  /** The file is there and holds no settings. */
  readonly isEmpty?: boolean
  place(path: readonly (string | number)[]): Place
}

/** Stands for a file that was not given. */
export const emptyFile: ConfigFile = { value: {}, place: () => ({ line: 1 }) }

const text: Shape = { kind: 'text' }
const texts: Shape = { kind: 'list', of: text }
const whole: Shape = { kind: 'whole', min: 1 }
const price: Shape = { kind: 'number', min: 0 }
const seconds: Shape = { kind: 'number', min: 0.001 }
const fallbacks: Shape = { kind: 'by name', of: texts }
const flag: Shape = { kind: 'flag' }

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
    aws_region_name: text,
    aws_access_key_id: text,
    aws_secret_access_key: text,
    aws_session_token: text,
    vertex_project: text,
    vertex_location: text,
    vertex_credentials: text,
    deny: texts,
  },
}

const modelEntry: Shape = {
  kind: 'block',
  keys: { model_name: text, params, litellm_params: params },
  later: ['model_info'],
}

const harnessEntry: Shape = {
  kind: 'block',
  keys: {
    alias: text,
    api_spec: text,
    api_base: text,
    api_key: text,
    display_name: text,
    command: texts,
    env: { kind: 'by name', of: text },
    sandbox: text,
  },
}

const router: Shape = {
  kind: 'block',
  keys: {
    retries: { kind: 'whole', min: 0 },
    cooldown: { kind: 'block', keys: { failures: whole, window_s: seconds, seconds } },
    fallbacks,
    context_window_fallbacks: fallbacks,
    policy_fallbacks: fallbacks,
    sticky: flag,
  },
}

/** Every key of the file. `later` are keys that are planned, so that the message can say so. */
const fileShape: Shape = {
  kind: 'block',
  keys: {
    general_settings: {
      kind: 'block',
      keys: { master_key: text, public_url: text, trust_proxy: texts },
      later: ['database_url'],
    },
    model_list: { kind: 'list', of: modelEntry },
    runtime_harnesses: { kind: 'list', of: harnessEntry },
    outbound: { kind: 'block', keys: { allow: texts } },
    limits: {
      kind: 'block',
      keys: {
        max_streams: whole,
        max_sessions: whole,
        max_loop_delay_ms: whole,
        reserve_bytes_per_token: { kind: 'number', min: 1 },
        reserve_server_tool_calls: whole,
        assumed_output_tokens_per_second: { kind: 'number', min: 0 },
        reservation_s: whole,
        sandbox_cpus: { kind: 'number', min: 0.1 },
      },
    },
    retention: {
      kind: 'block',
      keys: { deleted_sessions: text, deliveries: text, sessions: text, ledger: text, audit: text },
    },
    responses: { kind: 'block', keys: { store: text } },
    router,
    logging: { kind: 'block', keys: { requests: text, sample: { kind: 'number', min: 0 } } },
    prices: { kind: 'block', keys: { import: texts, unknown: text } },
    demo: flag,
  },
  later: ['mcp_servers', 'agents', 'litellm_settings', 'router_settings', 'environment_variables'],
}

/** A model that came as JSON, read as an entry of the file is. Its texts cannot name environment variables. */
export const readModelEntry = (value: unknown, report: (problem: string) => void): Partial<ModelEntry> =>
  // As below: the value was built by walking the shape of an entry.
  (readJsonShape(value, modelEntry, report) ?? {}) as Partial<ModelEntry>

interface Options {
  readonly path: string
  readonly env: Readonly<Record<string, string | undefined>>
  readonly report: (text: string, place?: Place) => void
}

/** Reads and checks a YAML file; what is wrong goes to `report` with its line, and is left out of the value. */
export function readConfigFile({ path, env, report }: Options): ConfigFile {
  let source: string
  try {
    source = readFileSync(path, 'utf8')
  } catch {
    report(`the configuration file ${path} cannot be read`)
    return emptyFile
  }
  const lines = new LineCounter()
  const document = parseDocument(source, { lineCounter: lines })
  for (const { message, pos } of document.errors) {
    report(message.split('\n')[0] ?? 'not valid YAML', { line: lines.linePos(pos[0]).line })
  }
  if (document.errors.length > 0) return emptyFile
  if (document.contents === null) return { ...emptyFile, isEmpty: true }
  const placeOf = (node: Node | null): Place => ({ line: lines.linePos(node?.range?.[0] ?? 0).line })
  const value = readShape(document, fileShape, {
    report: (problem, node) => report(problem, placeOf(node)),
    variable: name => env[name],
  })
  return {
    // The only cast: the value was built by walking the very shape that FileValue describes.
    value: (value ?? {}) as FileValue,
    place(at) {
      const node = document.getIn(at, true)
      return placeOf(isNode(node) ? node : null)
    },
  }
}
