import { readFileSync } from 'node:fs'
import { isNode, LineCounter, type Node, parseDocument } from 'yaml'
import { readShape, type Shape } from './yaml-shape.ts'

/** Where in the configuration file something stands. */
export interface Place {
  readonly line: number
}

/** One thing that is wrong; without a place it is not the file's fault. */
export interface Problem {
  readonly text: string
  readonly place: Place | undefined
}

/** The upstream side of a model, as the file spells it. Gaps: section 2. */
export interface ModelParams {
  readonly model: string
  readonly api_base?: string
  readonly api_key?: string
  readonly protocol?: string
  readonly weight?: number
  readonly headers?: Readonly<Record<string, string>>
  readonly timeouts?: Readonly<Record<'connect_ms' | 'first_byte_ms' | 'idle_ms' | 'total_ms', number | undefined>>
}

/** One entry of `model_list`; exactly one of the two parameter blocks is there. */
export interface ModelEntry {
  readonly model_name: string
  readonly params?: ModelParams
  readonly litellm_params?: ModelParams
}

interface FileValue {
  readonly general_settings?: { readonly master_key?: string }
  readonly model_list?: readonly ModelEntry[]
  readonly outbound?: { readonly allow?: readonly string[] }
  readonly limits?: { readonly max_streams?: number; readonly max_sessions?: number }
  readonly demo?: boolean
}

/** A read file: its value, and the line of every path in it. */
export interface ConfigFile {
  readonly value: FileValue
  place(path: readonly (string | number)[]): Place
}

/** Stands for a file that was not given. */
export const emptyFile: ConfigFile = { value: {}, place: () => ({ line: 1 }) }

const text: Shape = { kind: 'text' }
const whole: Shape = { kind: 'whole', min: 1 }

const params: Shape = {
  kind: 'block',
  keys: {
    model: text,
    api_base: text,
    api_key: text,
    protocol: text,
    weight: { kind: 'number', min: 0 },
    headers: { kind: 'by name', of: text },
    timeouts: { kind: 'block', keys: { connect_ms: whole, first_byte_ms: whole, idle_ms: whole, total_ms: whole } },
  },
  later: ['rpm', 'tpm', 'input_cost_per_token', 'output_cost_per_token', 'timeout', 'stream_timeout'],
}

/** Every key of the file. `later` are keys that are planned, so that the message can say so. */
const fileShape: Shape = {
  kind: 'block',
  keys: {
    general_settings: { kind: 'block', keys: { master_key: text }, later: ['database_url'] },
    model_list: {
      kind: 'list',
      of: { kind: 'block', keys: { model_name: text, params, litellm_params: params }, later: ['model_info'] },
    },
    outbound: { kind: 'block', keys: { allow: { kind: 'list', of: text } } },
    limits: {
      kind: 'block',
      keys: { max_streams: whole, max_sessions: whole },
      later: ['max_loop_delay_ms', 'reserve_bytes_per_token'],
    },
    demo: { kind: 'flag' },
  },
  later: ['mcp_servers', 'agents', 'router', 'prices', 'litellm_settings', 'router_settings', 'environment_variables'],
}

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
  if (document.errors.length > 0 || document.contents === null) return emptyFile
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
