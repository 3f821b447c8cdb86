import type { RequestLogSettings } from '../platform/request-log.ts'
import type {
  ConfiguredHarness,
  ConfiguredMcpServer,
  GitHost,
  SandboxConfig,
  ToolSettings,
  WebSearchSettings,
  WorkspaceSettings,
} from './agent-settings.ts'
import type { Deployment, PriceSettings, RouterSettings } from './deployments.ts'
import type { LogSinkSettings, MetricsSettings, TelemetrySettings } from './export-settings.ts'

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
