import { readFileSync } from 'node:fs'
import { isNode, LineCounter, type Node, parseDocument } from 'yaml'
import { type HookEntry, hookEntry } from './hooks-of-file.ts'
import { type LogSinkEntry, logSinkEntry } from './log-sinks-of-file.ts'
import { type McpServerEntry, mcpServerEntry } from './mcp-servers-of-file.ts'
import { type ModelEntry, modelEntry } from './model-shape.ts'
import { type SandboxBlock, sandboxBlock } from './sandbox-shape.ts'
import { flag, readShape, type Shape, seconds, text, texts, whole } from './yaml-shape.ts'

/** Position in the configuration file. */
export interface Place {
  readonly line: number
}

/** A configuration problem; without a place if it is not in the file. */
export interface Problem {
  readonly text: string
  readonly place: Place | undefined
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

/** One entry of `git_hosts`. */
export interface GitHostEntry {
  readonly host?: string
  readonly type?: string
  readonly api_base?: string
  readonly credential?: string
  readonly auth?: string
}

type Words = readonly (string | undefined)[]

/** The block `sign_in.oidc`. */
export interface OidcBlock {
  readonly issuer?: string
  readonly name?: string
  readonly client_id?: string
  readonly client_secret?: string
  readonly client_secret_vault_key?: string
  readonly scopes?: Words
  readonly claims?: {
    readonly owner?: string
    readonly email?: string
    readonly name?: string
    readonly groups?: string
  }
  readonly allowed_domains?: Words
  readonly roles?: { readonly admin?: Words; readonly member?: Words; readonly viewer?: Words }
  readonly default_role?: string
  readonly session_hours?: number
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
    readonly console?: boolean
    readonly approval_links?: readonly (string | undefined)[]
    readonly trust_proxy?: readonly (string | undefined)[]
  }
  readonly sign_in?: { readonly oidc?: OidcBlock }
  readonly model_list?: readonly ModelEntry[]
  readonly runtime_harnesses?: readonly (Partial<HarnessEntry> | undefined)[]
  readonly mcp_servers?: readonly (McpServerEntry | undefined)[]
  readonly outbound?: { readonly allow?: readonly string[] }
  readonly limits?: {
    readonly max_streams?: number
    readonly max_sessions?: number
    readonly session_events?: number
    readonly session_bytes?: number
    readonly max_loop_delay_ms?: number
    readonly reserve_bytes_per_token?: number
    readonly reserve_server_tool_calls?: number
    readonly assumed_output_tokens_per_second?: number
    readonly response_cache_bytes?: number
    readonly files_bytes?: number
    readonly reservation_s?: number
    readonly sandbox_cpus?: number
    readonly allow_unrestricted_egress?: boolean
    readonly tool_result_chars?: number
    readonly tool_preview_chars?: number
  }
  readonly retention?: Partial<
    Record<'deleted_sessions' | 'deliveries' | 'sessions' | 'files' | 'bodies' | 'ledger' | 'audit', string | undefined>
  >
  readonly workspaces?: {
    readonly store?: string
    readonly s3?: Partial<
      Record<
        'endpoint' | 'bucket' | 'region' | 'prefix' | 'access_key_id' | 'secret_access_key' | 'session_token',
        string | undefined
      >
    >
    readonly max_file_bytes?: number
    readonly max_bytes?: number
    readonly max_files?: number
  }
  readonly sandbox?: SandboxBlock
  readonly git_hosts?: readonly (GitHostEntry | undefined)[]
  readonly web_search?: { readonly provider?: string; readonly api_key?: string; readonly api_base?: string }
  readonly responses?: { readonly store?: string }
  readonly hooks?: readonly (Partial<HookEntry> | undefined)[]
  readonly log_sinks?: readonly (Partial<LogSinkEntry> | undefined)[]
  readonly router?: RouterBlock
  readonly logging?: { readonly requests?: string; readonly sample?: number }
  readonly metrics?: { readonly enabled?: boolean; readonly public?: boolean; readonly listen?: string }
  readonly telemetry?: {
    readonly content?: boolean
    readonly otlp?: {
      readonly endpoint?: string
      readonly headers?: Readonly<Record<string, string | undefined>>
      readonly logs?: boolean
      readonly propagate?: boolean
      readonly sample?: number
    }
  }
  readonly prices?: { readonly import?: readonly (string | undefined)[]; readonly unknown?: string }
  readonly demo?: boolean
}

/** A parsed configuration file: its value, and the line of every path in it. */
export interface ConfigFile {
  readonly value: FileValue
  /** True if the file exists without settings. */
  readonly isEmpty?: boolean
  place(path: readonly (string | number)[]): Place
}

/** Value for a missing file. */
export const emptyFile: ConfigFile = { value: {}, place: () => ({ line: 1 }) }

const fallbacks: Shape = { kind: 'by name', of: texts }

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

const bucket: Shape = {
  kind: 'block',
  keys: {
    endpoint: text,
    bucket: text,
    region: text,
    prefix: text,
    access_key_id: text,
    secret_access_key: text,
    session_token: text,
  },
}

const oidc: Shape = {
  kind: 'block',
  keys: {
    issuer: text,
    name: text,
    client_id: text,
    client_secret: text,
    client_secret_vault_key: text,
    scopes: texts,
    claims: { kind: 'block', keys: { owner: text, email: text, name: text, groups: text } },
    allowed_domains: texts,
    roles: { kind: 'block', keys: { admin: texts, member: texts, viewer: texts } },
    default_role: text,
    session_hours: whole,
  },
}

/** Every key of the file. `later` lists planned keys, for a better error message. */
const fileShape: Shape = {
  kind: 'block',
  keys: {
    general_settings: {
      kind: 'block',
      keys: { master_key: text, public_url: text, console: flag, approval_links: texts, trust_proxy: texts },
      later: ['database_url'],
    },
    sign_in: { kind: 'block', keys: { oidc } },
    model_list: { kind: 'list', of: modelEntry },
    runtime_harnesses: { kind: 'list', of: harnessEntry },
    mcp_servers: { kind: 'list', of: mcpServerEntry },
    outbound: { kind: 'block', keys: { allow: texts } },
    limits: {
      kind: 'block',
      keys: {
        max_streams: whole,
        max_sessions: whole,
        session_events: whole,
        session_bytes: whole,
        max_loop_delay_ms: whole,
        reserve_bytes_per_token: { kind: 'number', min: 1 },
        reserve_server_tool_calls: whole,
        assumed_output_tokens_per_second: { kind: 'number', min: 0 },
        response_cache_bytes: whole,
        files_bytes: whole,
        reservation_s: whole,
        sandbox_cpus: { kind: 'number', min: 0.1 },
        allow_unrestricted_egress: flag,
        tool_result_chars: { kind: 'whole', min: 1000 },
        tool_preview_chars: { kind: 'whole', min: 100 },
      },
    },
    retention: {
      kind: 'block',
      keys: {
        deleted_sessions: text,
        deliveries: text,
        sessions: text,
        files: text,
        bodies: text,
        ledger: text,
        audit: text,
      },
    },
    workspaces: {
      kind: 'block',
      keys: { store: text, s3: bucket, max_file_bytes: whole, max_bytes: whole, max_files: whole },
    },
    sandbox: sandboxBlock,
    git_hosts: {
      kind: 'list',
      of: { kind: 'block', keys: { host: text, type: text, api_base: text, credential: text, auth: text } },
    },
    web_search: { kind: 'block', keys: { provider: text, api_key: text, api_base: text } },
    responses: { kind: 'block', keys: { store: text } },
    hooks: { kind: 'list', of: hookEntry },
    log_sinks: { kind: 'list', of: logSinkEntry },
    router,
    logging: { kind: 'block', keys: { requests: text, sample: { kind: 'number', min: 0 } } },
    metrics: { kind: 'block', keys: { enabled: flag, public: flag, listen: text } },
    telemetry: {
      kind: 'block',
      keys: {
        content: flag,
        otlp: {
          kind: 'block',
          keys: {
            endpoint: text,
            headers: { kind: 'by name', of: text },
            logs: flag,
            propagate: flag,
            sample: { kind: 'number', min: 0 },
          },
        },
      },
    },
    prices: { kind: 'block', keys: { import: texts, unknown: text } },
    demo: flag,
  },
  later: ['agents', 'litellm_settings', 'router_settings', 'environment_variables'],
}

interface Options {
  readonly path: string
  readonly env: Readonly<Record<string, string | undefined>>
  readonly report: (text: string, place?: Place) => void
  readonly warn: (text: string, place: Place) => void
}

/** Reads and checks a YAML file. Reports problems with their line and omits invalid values. */
export function readConfigFile({ path, env, report, warn }: Options): ConfigFile {
  let source: string
  try {
    source = readFileSync(path, 'utf8')
  } catch {
    report(`cannot read configuration file ${path}`)
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
    warn: (warning, node) => warn(warning, placeOf(node)),
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
