import type { RequestLogSettings } from '../platform/request-log.ts'

/** The protocols that an upstream can serve. `demo` is the scripted model in process; no file can name it. */
export type Protocol =
  | 'anthropic-messages'
  | 'openai-chat'
  | 'openai-responses'
  | 'gemini'
  | 'bedrock-converse'
  | 'bedrock-invoke'
  | 'vertex-anthropic'
  | 'demo'

/** Milliseconds; by default 5,000, 60,000, 60,000 and 600,000. Source: Gateway, section 3. */
export interface UpstreamTimeouts {
  readonly connectMs: number
  readonly firstByteMs: number
  readonly idleMs: number
  readonly totalMs: number
}

/** Signs the calls to Amazon Bedrock. */
export interface AwsAccess {
  readonly region: string
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly sessionToken: string | undefined
}

/** Where a Vertex AI deployment lives, and who asks. */
export interface GoogleAccess {
  readonly project: string
  /** Such as `europe-west4`, or `global`. */
  readonly location: string
  /** Undefined: `apiKey` is an access token that somebody else keeps fresh. */
  readonly serviceAccount: GoogleServiceAccount | undefined
}

/** The fields of a service account's key file that a token request needs. */
export interface GoogleServiceAccount {
  readonly clientEmail: string
  /** PEM, PKCS 8. */
  readonly privateKey: string
  readonly tokenUri: string
}

/** US dollars per token; what is undefined is taken from the catalogue. */
export interface TokenPrices {
  readonly input?: number
  readonly output?: number
  readonly cacheRead?: number
  readonly cacheWrite5m?: number
  readonly cacheWrite1h?: number
}

/** US dollars per unit, for models that do not charge tokens. */
export interface UnitPrices {
  /** Of the text that becomes speech. */
  readonly character?: number
  /** Of audio that is transcribed. */
  readonly second?: number
  readonly image?: number
  /** A search of a reranking model, or a moderation. */
  readonly query?: number
}

/** The kinds of tokens that have a price of their own. */
export type RateName = keyof TokenPrices

/** US dollars per million tokens. A tier holds for calls with more input than `above`, cached included, and for all of it. */
export interface TieredRate {
  readonly base: number
  /** From short to long. */
  readonly tiers: readonly { readonly above: number; readonly rate: number }[]
}

export type Rates = Readonly<Partial<Record<RateName, TieredRate>>>

/** What an imported price list says of a model. */
export interface ImportedModel {
  /** Empty when the list has the model but not its price. */
  readonly rates: Rates
  readonly contextWindow?: number
  readonly maxOutput?: number
}

/** Where prices come from, besides the deployments and the service's own table. */
export interface PriceSettings {
  /** By `provider/upstream model`; of several files the first that has a model wins. */
  readonly imported: Readonly<Record<string, ImportedModel>>
  /** Tells one state of the imported files from another; empty when there are none. */
  readonly importedVersion: string
  /** What becomes of calls to a model whose price nobody knows. `budgeted`: they are refused where a budget limits them. */
  readonly unknown: 'refuse' | 'allow' | 'budgeted'
}

/** The protocols that an upstream serves. The first is its default: it takes the calls of clients whose format it lacks. */
export type Protocols = readonly [Protocol, ...Protocol[]]

/** The model behind a deployment whose name does not tell it: one named by its operator, a tuned one, an ARN. */
export interface BaseModel {
  /** Whose price list has the model; that of the deployment unless another one is named. */
  readonly provider: string
  readonly model: string
}

/** What the operator says of a model. It wins over what names and lists tell. */
export interface Capabilities {
  /** False: the model is never asked to think. True: it takes the words for how much. */
  readonly reasoning?: boolean
  /** Images; as the next two only shown to clients. */
  readonly vision?: boolean
  readonly pdfInput?: boolean
  readonly functionCalling?: boolean
  /** Tokens. */
  readonly contextWindow?: number
  /** Tokens of the longest answer. */
  readonly maxOutput?: number
}

/** One upstream that can serve an alias. */
export interface Deployment {
  /** Stable and public: never a host or a key. */
  readonly id: string
  /** The name that clients send: exact, or with a `*` at its end, such as `provider/*`. */
  readonly alias: string
  readonly provider: string
  /** The model's name upstream; a `*` stands for what the alias's `*` matched. */
  readonly upstreamModel: string
  /** Prices, limits and the rules of reasoning are those of this model; of `upstreamModel` without it. */
  readonly baseModel?: BaseModel
  readonly capabilities?: Capabilities
  /** One alone is pinned: every call is made in it. */
  readonly protocols: Protocols
  /** Base address without a trailing slash; a path prefix is kept. */
  readonly apiBase: string
  readonly apiKey: string | undefined
  /** Sent with every call, in lower case. They win over the credential that the provider would get. */
  readonly headers: Readonly<Record<string, string>>
  /** Share of the calls among the deployments of one alias; 0 is used only when there is no other. */
  readonly weight: number
  readonly timeouts: UpstreamTimeouts
  readonly aws?: AwsAccess
  readonly google?: GoogleAccess
  /** Calls a minute after which others of the group are preferred. */
  readonly rpm?: number
  /** Tokens a minute after which others of the group are preferred. */
  readonly tpm?: number
  /** Calls at a time in one process after which others of the group are preferred. */
  readonly maxParallel?: number
  readonly prices?: TokenPrices
  readonly unitPrices?: UnitPrices
  /** US dollars for a search of the web that the provider makes for an answer. */
  readonly searchPrice?: number
  /** How long the response cache keeps answers of this model; absent: it is off unless the key has one. */
  readonly cacheTtlMs?: number
  /** Until when bodies of calls that it answers are recorded, in ms since 1970; absent: they are not. */
  readonly logBodiesUntilMs?: number
  /** Fields that this upstream refuses: dotted paths of the body, or `header:<name>` for one beta. */
  readonly deny?: readonly string[]
}

/** By the name that failed: the names to go on with, in order. A key may be a wildcard of the model list. */
export type Fallbacks = Readonly<Record<string, readonly string[]>>

/** How calls are spread, retried and moved on. Source: Gateway, section 3. */
export interface RouterSettings {
  /** Tries of a call within one group after the first. */
  readonly retries: number
  readonly cooldown: CooldownSettings
  /** When retries are used up. */
  readonly fallbacks: Fallbacks
  /** When the upstream says that the prompt is too long. */
  readonly contextWindowFallbacks: Fallbacks
  /** When the upstream refuses to answer before any content. */
  readonly policyFallbacks: Fallbacks
  /** True: calls of one session go to the same deployment while it can take them, so that prompt caches stay warm. */
  readonly sticky: boolean
}

/** So many failures within the window put a deployment out for a while. */
export interface CooldownSettings {
  readonly failures: number
  readonly windowMs: number
  readonly outMs: number
}

/** A runtime of the configuration file. */
export interface ConfiguredHarness {
  readonly alias: string
  readonly apiSpec: 'claude_managed_agents' | 'opencode' | 'acp' | 'cursor'
  readonly displayName: string
  /** Without a slash at its end; empty for a program that the service starts. */
  readonly apiBase: string
  readonly apiKey: string | undefined
  /** The program to start and its arguments; undefined for one that is called at its address. */
  readonly command: readonly string[] | undefined
  /** Variables for the program. */
  readonly env: Readonly<Record<string, string>>
  /** Present for a program that runs with the rights of the service. */
  readonly isolation?: 'none'
}

/** A program that is asked about model calls before or after they are made. */
export interface Hook {
  readonly name: string
  readonly url: string
  readonly phase: 'pre' | 'post'
  /** How long the whole request may take. */
  readonly timeoutMs: number
  /** What becomes of a call whose hook gives no valid answer. */
  readonly onError: 'allow' | 'block'
  /** Names of models or `provider/*`; empty: all. */
  readonly models: readonly string[]
  /** Ids of virtual keys; empty: all callers, the master key's too. */
  readonly keys: readonly string[]
  /** True: a stream is held until the hook has answered. */
  readonly bufferStream: boolean
  /** Signs the requests; undefined: they are not signed. */
  readonly secret: string | undefined
}

export interface Limits {
  /** Running streams per process; above it new calls get 529. */
  readonly maxStreams: number
  /** Mean delay of the event loop over the last second; while it is above, new calls get 529. */
  readonly maxLoopDelayMs: number
  /** Sessions that this process runs at once. */
  readonly maxSessions: number
  /** Events, and bytes of their payloads, from which on the log of a session takes no further run. */
  readonly sessionEvents: number
  readonly sessionBytes: number
  /** How many bytes of text count as one token when a budget is asked for the worst case; 1 is never too few. */
  readonly reserveBytesPerToken: number
  /** How many calls of a tool that the provider runs a budget holds, where the request does not limit them. */
  readonly reserveServerToolCalls: number
  /** Output that a call is booked with for each second of an upstream that never stated its usage. */
  readonly assumedOutputTokensPerSecond: number
  /** Bytes of all entries of the response cache. */
  readonly responseCacheBytes: number
  /** How long what is held for a call outlives the process that makes it. */
  readonly reservationMs: number
  /** Processors that a command of an agent may keep busy; undefined: half of the machine's, at least one. */
  readonly sandboxCpus?: number | undefined
}

/** Milliseconds that things are kept; undefined: for ever. */
export interface RetentionSettings {
  /** Events, messages and prompts of a session after its deletion. */
  readonly deletedSessionsMs: number | undefined
  /** Deliveries of webhooks, those that came and those that were sent. */
  readonly deliveriesMs: number | undefined
  /** Sessions in which nothing happens any more. */
  readonly sessionsMs: number | undefined
  /** Bodies of calls that were recorded. */
  readonly bodiesMs: number | undefined
  readonly ledgerMs: number | undefined
  readonly auditMs: number | undefined
}

/** What the checkpoints of a session's files hold at most; the rest is named in its log. */
export interface WorkspaceSettings {
  /** Bytes of one file. */
  readonly fileBytes: number
  /** Bytes of all files of a session. */
  readonly bytes: number
  /** Files, folders and links of a session. */
  readonly files: number
  /** True: content goes into the bucket; false: into the database. */
  readonly writesBucket: boolean
  /** A bucket that content is read from. */
  readonly bucket: WorkspaceBucket | undefined
}

/** A bucket of an object store that speaks S3. */
export interface WorkspaceBucket {
  /** Without a slash at its end. */
  readonly endpoint: string
  readonly bucket: string
  readonly region: string
  /** In front of every key. */
  readonly prefix: string
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly sessionToken: string | undefined
}

/** All that the environment and the configuration file decide. Frozen; a changed file makes a new one. */
export interface Config {
  readonly host: string
  readonly port: number
  /** Where clients reach the service, without a slash at its end. Undefined: where it listens. */
  readonly publicUrl: string | undefined
  /** Networks of proxies whose `X-Forwarded-For` counts. */
  readonly trustProxy: readonly string[]
  /** Undefined: authentication is off, and only loopback may call. */
  readonly masterKey: string | undefined
  /** True lets a server without a key listen on other addresses than loopback. */
  readonly insecureNoAuth: boolean
  /** Undefined: the embedded PostgreSQL in the data folder. */
  readonly databaseUrl: string | undefined
  /** How long a start retries a database that cannot be reached, in milliseconds. */
  readonly databaseWaitMs: number
  readonly dataDir: string
  /** Base64 of 32 bytes each; the first seals, all open. Empty: a file in the data folder. */
  readonly encryptionKeys: readonly string[]
  readonly role: 'all' | 'api' | 'worker'
  /** Processes that serve behind the one port of this machine. */
  readonly workers: number
  readonly logLevel: string
  /** How long to serve on after SIGTERM, with readiness at 503, so that load balancers notice. */
  readonly drainDelayMs: number
  readonly deployments: readonly Deployment[]
  /** Where the deployments come from. */
  readonly modelsFrom: 'file' | 'environment'
  /** The environment's keys by provider; each goes to its provider's own address only. */
  readonly environmentKeys: Readonly<Record<string, string>>
  /** True: the scripted model `demo` exists. */
  readonly demo: boolean
  readonly router: RouterSettings
  readonly prices: PriceSettings
  readonly runtimeHarnesses: readonly ConfiguredHarness[]
  readonly requestLog: RequestLogSettings
  /** `host:port` of private addresses that may be called. */
  readonly outboundAllow: readonly string[]
  readonly limits: Limits
  /** Unix seconds: when the file was last changed. Absent without a file. */
  readonly configuredAt?: number
  readonly retention: RetentionSettings
  readonly workspaces: WorkspaceSettings
  /** Whether answers in the Responses format are stored: as the client asks, or never. */
  readonly responseStore: 'client' | 'never'
  /** In the order in which they are asked. */
  readonly hooks: readonly Hook[]
  /** The configuration file that was read. */
  readonly file: string | undefined
  /** That file is there and holds no settings. */
  readonly isFileEmpty: boolean
  /** Things the operator should know, said once at start. */
  readonly warnings: readonly string[]
}

/** Variables of the process; the only place that reads them is the caller's `main`. */
export type Environment = Readonly<Record<string, string | undefined>>

/** Command-line options; each wins over its variable. */
export interface Overrides {
  readonly configFile?: string
  readonly port?: number
  readonly host?: string
  readonly dataDir?: string
  readonly insecureNoAuth?: boolean
  /** True: a start gives up at once when the database cannot be reached. */
  readonly noWait?: boolean
}
