import type { McpAuthType } from '../../contract/mcp.ts'
import type { ApiSpec } from '../../contract/runtimes.ts'
import type { RequestLogSettings } from '../platform/request-log.ts'
import type { Protocol } from './protocols.ts'

/** Milliseconds; by default 5,000, 60,000, 60,000 and 600,000. Source: Gateway, section 3. */
export interface UpstreamTimeouts {
  readonly connectMs: number
  readonly firstByteMs: number
  readonly idleMs: number
  readonly totalMs: number
}

/** Credential that signs calls to Amazon Bedrock. */
export interface AwsAccess {
  readonly region: string
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly sessionToken: string | undefined
}

/** Project, location and credential of a Vertex AI deployment. */
export interface GoogleAccess {
  readonly project: string
  /** Such as `europe-west4`, or `global`. */
  readonly location: string
  /** Undefined if `apiKey` is an access token, which the operator must refresh. */
  readonly serviceAccount: GoogleServiceAccount | undefined
}

/** Fields of a service account key file that token requests need. */
export interface GoogleServiceAccount {
  readonly clientEmail: string
  /** PEM, PKCS 8. */
  readonly privateKey: string
  readonly tokenUri: string
}

/** US dollars per token; undefined prices come from the price lists. */
export interface TokenPrices {
  readonly input?: number
  readonly output?: number
  readonly cacheRead?: number
  readonly cacheWrite5m?: number
  readonly cacheWrite1h?: number
}

/** US dollars per unit, for models that are not priced by tokens. */
export interface UnitPrices {
  /** Per character of text to speech. */
  readonly character?: number
  /** Per second of transcribed audio. */
  readonly second?: number
  readonly image?: number
  /** Per search of a reranking model, or per moderation. */
  readonly query?: number
}

/** Kinds of tokens with a separate price. */
export type RateName = keyof TokenPrices

/**
 * US dollars per million tokens. A tier applies to all tokens of calls with more input than `above`, including cached
 * input.
 */
export interface TieredRate {
  readonly base: number
  /** In ascending order of `above`. */
  readonly tiers: readonly { readonly above: number; readonly rate: number }[]
}

export type Rates = Readonly<Partial<Record<RateName, TieredRate>>>

/** Entry of a model in an imported price list. */
export interface ImportedModel {
  /** Empty if the list has the model without a price. */
  readonly rates: Rates
  readonly contextWindow?: number
  readonly maxOutput?: number
}

/** Price sources besides deployments and the built-in table. */
export interface PriceSettings {
  /** By `provider/upstream model`; the first file that has a model wins. */
  readonly imported: Readonly<Record<string, ImportedModel>>
  /** Identifies the content of the imported files; empty without any. */
  readonly importedVersion: string
  /** Policy for calls to a model of unknown price. `budgeted` rejects them if a budget limits them. */
  readonly unknown: 'refuse' | 'allow' | 'budgeted'
}

/**
 * Protocols that an upstream serves. The first is the default, for clients whose format the upstream does not serve.
 */
export type Protocols = readonly [Protocol, ...Protocol[]]

/** Model behind a deployment whose name does not identify it: a custom name, a fine-tuned model, an ARN. */
export interface BaseModel {
  /** Provider whose price list has the model; the provider of the deployment by default. */
  readonly provider: string
  readonly model: string
}

/** Capabilities that the operator configures. They override what names and price lists indicate. */
export interface Capabilities {
  /** False: requests never ask for reasoning. True: the model accepts effort levels. */
  readonly reasoning?: boolean
  /** Image input. This and the next two are only reported to clients. */
  readonly vision?: boolean
  readonly pdfInput?: boolean
  readonly functionCalling?: boolean
  /** Tokens. */
  readonly contextWindow?: number
  /** Maximum output tokens. */
  readonly maxOutput?: number
}

/** An upstream that serves an alias. */
export interface Deployment {
  /** Stable and public: never contains a host or a key. */
  readonly id: string
  /** Model name that clients send: exact, or with a trailing `*`, such as `provider/*`. */
  readonly alias: string
  readonly provider: string
  /** Model name at the upstream; `*` stands for the text that the `*` of the alias matched. */
  readonly upstreamModel: string
  /** Model that determines prices, limits and reasoning rules; `upstreamModel` by default. */
  readonly baseModel?: BaseModel
  readonly capabilities?: Capabilities
  /** A single protocol is pinned: every call uses it. */
  readonly protocols: Protocols
  /** Base address without a trailing slash; a path prefix is kept. */
  readonly apiBase: string
  readonly apiKey: string | undefined
  /** Sent with every call, names in lower case. They override the credential headers. */
  readonly headers: Readonly<Record<string, string>>
  /** Relative share of calls among the deployments of an alias; 0 is used only if there is no other. */
  readonly weight: number
  readonly timeouts: UpstreamTimeouts
  readonly aws?: AwsAccess
  readonly google?: GoogleAccess
  /** Calls per minute above which others of the group are preferred. */
  readonly rpm?: number
  /** Tokens per minute above which others of the group are preferred. */
  readonly tpm?: number
  /** Concurrent calls per process above which others of the group are preferred. */
  readonly maxParallel?: number
  readonly prices?: TokenPrices
  readonly unitPrices?: UnitPrices
  /** US dollars per web search of the provider. */
  readonly searchPrice?: number
  /** Whether batches use the provider's own batch API; absent: where the address is the provider's own. */
  readonly batchApi?: boolean
  /** Price of the provider's batch API as a share of the usual price; absent: half. */
  readonly batchPriceFactor?: number
  /** Lifetime of cached responses of this model; absent if only keys enable the response cache. */
  readonly cacheTtlMs?: number
  /** End of the recording of bodies, in ms since 1970; absent if bodies are not recorded. */
  readonly logBodiesUntilMs?: number
  /** Fields that are never sent to this upstream: dotted paths of the body, or `header:<name>` for a beta. */
  readonly deny?: readonly string[]
}

/** By failed model name: the names to try next, in order. A key may be a wildcard of the model list. */
export type Fallbacks = Readonly<Record<string, readonly string[]>>

/** Load balancing, retries and fallbacks. Source: Gateway, section 3. */
export interface RouterSettings {
  /** Maximum retries of a call within one group. */
  readonly retries: number
  readonly cooldown: CooldownSettings
  /** Used after the last retry failed. */
  readonly fallbacks: Fallbacks
  /** Used if the prompt exceeds the context window. */
  readonly contextWindowFallbacks: Fallbacks
  /** Used if the upstream declines to answer before any content. */
  readonly policyFallbacks: Fallbacks
  /** True: calls of a session prefer one deployment, so that its prompt cache is used. */
  readonly sticky: boolean
}

/** `failures` within `windowMs` start a cooldown of `outMs`. */
export interface CooldownSettings {
  readonly failures: number
  readonly windowMs: number
  readonly outMs: number
}

/** Agent runtime of the configuration file. */
export interface ConfiguredHarness {
  readonly alias: string
  readonly apiSpec: ApiSpec
  readonly displayName: string
  /** Without a trailing slash; empty for a program that the service starts. */
  readonly apiBase: string
  readonly apiKey: string | undefined
  /** Program to start, and its arguments; undefined for a runtime that is called at `apiBase`. */
  readonly command: readonly string[] | undefined
  /** Environment variables of the program. */
  readonly env: Readonly<Record<string, string>>
  /** Present if the program runs without a sandbox, with the rights of the service. */
  readonly isolation?: 'none'
}

/** Program that serves MCP on its standard input and output. */
export interface StdioCommand {
  /** The program, as an absolute path or `node`, then its arguments. No shell reads them. Security: S30. */
  readonly command: readonly string[]
  readonly env: Readonly<Record<string, string>>
  /** Names of global vault entries by the variable that gets the value. */
  readonly vaultEnv: Readonly<Record<string, string>>
  /** Network of its sandbox, as `config.network` of agents; none by default. */
  readonly network?: Readonly<Record<string, unknown>>
  /** Present if the program runs without a sandbox, with the rights of the service. */
  readonly isolation?: 'none'
}

/** MCP server of the configuration file. */
export interface ConfiguredMcpServer {
  readonly serverName: string
  readonly alias: string | null
  readonly description: string | null
  /** Empty for a program. */
  readonly url: string
  /** Present for a server that the service starts itself. */
  readonly stdio?: StdioCommand
  readonly authType: McpAuthType
  readonly authValue: string | undefined
  readonly vaultKey: string | null
  readonly staticHeaders: Readonly<Record<string, string>>
  readonly allowedTools: readonly string[] | null
  readonly disallowedTools: readonly string[] | null
  readonly requireApproval: 'always' | readonly string[] | null
}

/** HTTP endpoint that allows, blocks or changes model calls before or after they are made. */
export interface Hook {
  readonly name: string
  readonly url: string
  readonly phase: 'pre' | 'post'
  /** Timeout of the whole request. */
  readonly timeoutMs: number
  /** Action for calls whose hook returns no valid answer. */
  readonly onError: 'allow' | 'block'
  /** Model names or `provider/*`; empty for all. */
  readonly models: readonly string[]
  /** Ids of virtual keys; empty for all callers, including the master key. */
  readonly keys: readonly string[]
  /** True: streams are buffered until the hook has answered. */
  readonly bufferStream: boolean
  /** Signs the requests; undefined for unsigned requests. */
  readonly secret: string | undefined
}

interface LogSinkBase {
  readonly name: string
  /** Unix milliseconds until which recorded bodies are exported; undefined: no bodies. */
  readonly bodiesUntilMs: number | undefined
}

/** File of JSON lines. */
export interface FileSinkSettings extends LogSinkBase {
  readonly type: 'file'
  /** Absolute. */
  readonly path: string
  readonly maxBytes: number
  readonly maxAgeMs: number
  /** Number of rotated files to keep. */
  readonly keep: number
}

/** Receiver over HTTP. */
export interface RemoteSinkSettings extends LogSinkBase {
  readonly type: 'http' | 'otlp'
  readonly url: string
  readonly format: 'json' | 'jsonl'
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly bearer: string | undefined
  /** Global vault entry with the bearer token. */
  readonly bearerVaultKey: string | undefined
}

/** Receiver of the rows of the usage ledger. */
export type LogSinkSettings = FileSinkSettings | RemoteSinkSettings

export interface Limits {
  /** Maximum running streams per process; further calls get 529. */
  readonly maxStreams: number
  /** Maximum mean event loop delay over the last second; above it new calls get 529. */
  readonly maxLoopDelayMs: number
  /** Maximum concurrently running sessions per process. */
  readonly maxSessions: number
  /** Events, and bytes of their payloads, above which a session starts no further run. */
  readonly sessionEvents: number
  readonly sessionBytes: number
  /** Bytes of text per token in the maximum cost of a call; 1 never underestimates. */
  readonly reserveBytesPerToken: number
  /** Calls per server-side tool to reserve in budgets if the request does not limit them. */
  readonly reserveServerToolCalls: number
  /** Output tokens per second that are booked for a call whose upstream never reported its usage. */
  readonly assumedOutputTokensPerSecond: number
  /** Maximum background responses that run in a process at the same time. */
  readonly maxBackgroundResponses: number
  /** Maximum background responses of a key that wait to run; further ones get 429. */
  readonly backgroundQueuedPerKey: number
  /** Maximum bytes of all entries of the response cache. */
  readonly responseCacheBytes: number
  /** Maximum bytes of all files of an owner. */
  readonly filesBytes: number
  /** Calls of batches at once in each process. */
  readonly batchCalls: number
  /** How long the reservation of a call outlives its process. */
  readonly reservationMs: number
  /** CPUs that a command of an agent may use; undefined for half of the machine, at least one. */
  readonly sandboxCpus?: number | undefined
  /** True when agents may have a network without a list of hosts. */
  readonly allowUnrestrictedEgress?: boolean
}

export type SandboxDriverChoice = 'auto' | 'bubblewrap' | 'virtual' | 'docker' | 'kubernetes'

/** Where the commands and programs of sessions run. */
export interface SandboxConfig {
  /** `auto`: bubblewrap if it works here, else virtual. */
  readonly driver: SandboxDriverChoice
  /** Image of agents that name none; empty for a driver without images. */
  readonly image: string
  /** Other images that agents may name. */
  readonly images: readonly string[]
  readonly docker: DockerSettings
  /** Present with the driver `kubernetes`. */
  readonly kubernetes: KubernetesSandbox | undefined
}

export interface DockerSettings {
  /** Path of the engine's socket. */
  readonly socket: string
  /** Runtime of the engine, such as `runsc`; undefined for its default. */
  readonly runtime: string | undefined
  /** `uid:gid` of commands; undefined for the owner of the workspaces. */
  readonly user: string | undefined
  /** Image with socat, which connects containers with the proxy of the network; undefined for the default image. */
  readonly proxyImage: string | undefined
  /** True when missing images are pulled. */
  readonly pull: boolean
}

/** The cluster in which sandboxes run. */
export interface KubernetesSandbox {
  readonly namespace: string
  /** Persistent volume claim that also contains the workspaces folder of this server. */
  readonly claim: string
  /** Path of the workspaces folder on that volume; undefined: its root. */
  readonly subPath: string | undefined
  readonly serviceAccount: string | undefined
  readonly runtimeClass: string | undefined
  readonly nodeSelector: Readonly<Record<string, string>>
  readonly pullSecrets: readonly string[]
  readonly api: KubernetesAccess
}

/** Access to the API server of a cluster. */
export interface KubernetesAccess {
  /** Address that starts with https://. */
  readonly server: string
  readonly tokenFile: string
  readonly caFile: string
}

export type SearchProvider = 'brave' | 'tavily' | 'searxng'

/** Provider of the tool `web_search`. */
export interface WebSearchSettings {
  readonly provider: SearchProvider
  readonly apiKey: string | undefined
  /** Without a trailing slash. */
  readonly apiBase: string
}

export type GitHostType = 'github' | 'gitlab' | 'gitea'

/** A host of repositories. */
export interface GitHost {
  /** Host with the port if it is not that of the scheme, in lower case. */
  readonly host: string
  /** Whose API opens pull requests. */
  readonly type: GitHostType
  /** Without a trailing slash. */
  readonly apiBase: string
  /** Vault entry with the credential; `git.` and the host by default. */
  readonly credential?: string | undefined
  /** How git's requests carry the credential; `basic` by default. */
  readonly auth?: 'basic' | 'bearer' | undefined
}

export type UserRoleName = 'admin' | 'member' | 'viewer'

/** Single sign-on with OpenID Connect. */
export interface OidcSettings {
  readonly issuer: string
  /** Name of the identity provider, for people. */
  readonly name: string
  readonly clientId: string
  /** Undefined for a public client, or with `clientSecretVaultKey`. */
  readonly clientSecret: string | undefined
  /** Global vault entry with the secret. */
  readonly clientSecretVaultKey: string | undefined
  readonly scopes: readonly string[]
  /** Names of claims. */
  readonly claims: {
    /** Owner of a new user; undefined: the id of the user. */
    readonly owner: string | undefined
    readonly email: string
    readonly name: string
    /** Undefined: groups change neither roles nor teams. */
    readonly groups: string | undefined
  }
  /** Domains of verified email addresses that may sign in; undefined for all accounts of the provider. */
  readonly allowedDomains: readonly string[] | undefined
  /** Groups by role, `*` for everyone; undefined: roles are set through the API. */
  readonly roles: Readonly<Record<UserRoleName, readonly string[]>> | undefined
  /** Role of a new user without `roles`. */
  readonly defaultRole: UserRoleName
  /** Lifetime of a sign-in. */
  readonly sessionHours: number
}

/** Limits of the tools of agents. */
export interface ToolSettings {
  /** Characters of a result in the context of a model. */
  readonly resultChars: number
  /** Characters that the model gets of a longer result. */
  readonly previewChars: number
}

/** Retention times in milliseconds; undefined keeps data forever. */
export interface RetentionSettings {
  /** Events, messages and prompts of a session after its deletion. */
  readonly deletedSessionsMs: number | undefined
  /** Webhook deliveries, received and sent. */
  readonly deliveriesMs: number | undefined
  /** Inactive sessions. */
  readonly sessionsMs: number | undefined
  /** Files of callers, after their creation. */
  readonly filesMs: number | undefined
  /** Batches with their results, after their end. */
  readonly batchesMs: number | undefined
  /** Recorded bodies of calls. */
  readonly bodiesMs: number | undefined
  readonly ledgerMs: number | undefined
  readonly auditMs: number | undefined
  /** Experiments that have ended, with their results. */
  readonly experimentsMs: number | undefined
}

/** Limits of workspace checkpoints. The session log lists files that exceed them. */
export interface WorkspaceSettings {
  /** Maximum bytes per file. */
  readonly fileBytes: number
  /** Maximum bytes of all files of a session. */
  readonly bytes: number
  /** Maximum number of files, folders and links of a session. */
  readonly files: number
  /** True: content is written to the bucket; false: to the database. */
  readonly writesBucket: boolean
  /** Bucket to read content from. */
  readonly bucket: WorkspaceBucket | undefined
}

/** Bucket of an S3-compatible object store. */
export interface WorkspaceBucket {
  /** Without a trailing slash. */
  readonly endpoint: string
  readonly bucket: string
  readonly region: string
  /** Prefix of every key. */
  readonly prefix: string
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly sessionToken: string | undefined
}

/** Where a signed link of an approval may be sent. */
export type ApprovalLinkPlace = 'webhook_endpoints' | 'replies'

/** Where settings were given. Names only. */
export interface SettingSources {
  /** Paths in the configuration file, two levels deep: `limits.max_streams`. */
  readonly file: readonly string[]
  /** Variables of the environment that the service reads and that are set. */
  readonly environment: readonly string[]
  /** Options of the command line. */
  readonly options: readonly string[]
}

/** Metrics for Prometheus. */
export interface MetricsSettings {
  /** False: nothing is counted, and `GET /metrics` is 404. */
  readonly isEnabled: boolean
  /** True: `GET /metrics` needs no key. */
  readonly isPublic: boolean
  /** Separate address that serves only the metrics, without a key. */
  readonly listen: ListenAddress | undefined
}

export interface ListenAddress {
  readonly host: string
  readonly port: number
}

/** Traces and logs for OpenTelemetry. */
export interface TelemetrySettings {
  /** Undefined: nothing is exported. */
  readonly otlp: OtlpSettings | undefined
  /** True: spans contain messages, tool arguments and tool results. */
  readonly hasContent: boolean
}

/** An OpenTelemetry collector, reached by OTLP over HTTP. */
export interface OtlpSettings {
  /** Base URL without a trailing slash; `/v1/traces` and `/v1/logs` are appended. */
  readonly endpoint: string
  readonly headers: Readonly<Record<string, string>>
  /** True: log lines are exported, too. */
  readonly exportsLogs: boolean
  /** True: upstreams get the trace context of a call. */
  readonly propagates: boolean
  /** Share of the traces that are exported, from 0 to 1. */
  readonly sample: number
}

/** Settings of the environment and the configuration file. Frozen; a changed file results in a new object. */
export interface Config {
  readonly host: string
  readonly port: number
  /** Public URL of the service without a trailing slash; undefined for the listen address. */
  readonly publicUrl: string | undefined
  /** True: the web console is built and served. */
  readonly console: boolean
  /** Where signed links of approvals are sent; empty: there are none. */
  readonly approvalLinks: readonly ApprovalLinkPlace[]
  /** Networks of proxies whose `X-Forwarded-For` is trusted. */
  readonly trustProxy: readonly string[]
  /** Undefined if authentication is off; the server then listens only on loopback. */
  readonly masterKey: string | undefined
  /** Undefined without single sign-on. */
  readonly oidc: OidcSettings | undefined
  /** True: a server without a master key may listen on any address. */
  readonly insecureNoAuth: boolean
  /** Undefined for the embedded PostgreSQL in the data folder. */
  readonly databaseUrl: string | undefined
  /** How long the start retries an unreachable database, in milliseconds. */
  readonly databaseWaitMs: number
  readonly dataDir: string
  /** Base64 of 32 bytes each; the first encrypts, all decrypt. Empty for the key file in the data folder. */
  readonly encryptionKeys: readonly string[]
  readonly role: 'all' | 'api' | 'worker'
  /** Number of processes that share the port. */
  readonly workers: number
  readonly logLevel: string
  /** How long to keep serving after SIGTERM with readiness at 503, so that load balancers stop sending requests. */
  readonly drainDelayMs: number
  readonly deployments: readonly Deployment[]
  /** Source of the deployments. */
  readonly modelsFrom: 'file' | 'environment'
  /** Keys of the environment by provider; each is sent only to the default address of its provider. */
  readonly environmentKeys: Readonly<Record<string, string>>
  /** True: the scripted model `demo` exists. */
  readonly demo: boolean
  readonly router: RouterSettings
  readonly prices: PriceSettings
  readonly runtimeHarnesses: readonly ConfiguredHarness[]
  readonly mcpServers: readonly ConfiguredMcpServer[]
  readonly requestLog: RequestLogSettings
  readonly metrics: MetricsSettings
  readonly telemetry: TelemetrySettings
  /** `host:port` of allowed private addresses. */
  readonly outboundAllow: readonly string[]
  readonly limits: Limits
  readonly toolLimits: ToolSettings
  readonly sandbox: SandboxConfig
  /** Undefined without a search provider: the tool `web_search` does not exist then. */
  readonly webSearch: WebSearchSettings | undefined
  /** Hosts of repositories beside the well-known ones. */
  readonly gitHosts: readonly GitHost[]
  /** Modification time of the file in Unix seconds; absent without a file. */
  readonly configuredAt?: number
  readonly retention: RetentionSettings
  readonly workspaces: WorkspaceSettings
  /** Storage of answers in the Responses format: as the client requests, or never. */
  readonly responseStore: 'client' | 'never'
  /** In call order. */
  readonly hooks: readonly Hook[]
  readonly logSinks: readonly LogSinkSettings[]
  /** Where the settings were given. */
  readonly sources: SettingSources
  /** Path of the configuration file. */
  readonly file: string | undefined
  /** True if the file exists without settings. */
  readonly isFileEmpty: boolean
  /** Warnings to log at start. */
  readonly warnings: readonly string[]
}

/** Environment variables; only `main` reads them from the process. */
export type Environment = Readonly<Record<string, string | undefined>>

/** Command-line options; each overrides its variable. */
export interface Overrides {
  readonly configFile?: string
  readonly port?: number
  readonly host?: string
  readonly dataDir?: string
  readonly insecureNoAuth?: boolean
  /** True: the start fails at once if the database is unreachable. */
  readonly noWait?: boolean
  /** True: the console is neither built nor served. */
  readonly noConsole?: boolean
}
