/** The wire protocols that a deployment can speak. */
export type Protocol = 'anthropic-messages' | 'openai-chat' | 'openai-responses' | 'gemini' | 'bedrock-converse' | 'bedrock-invoke'

/** Milliseconds; gateway.md's defaults are 5,000, 60,000, 60,000 and 600,000. */
export interface UpstreamTimeouts {
  readonly connectMs: number
  readonly firstByteMs: number
  readonly idleMs: number
  readonly totalMs: number
}

/** One upstream that can serve an alias. */
export interface Deployment {
  /** Stable and public: never a host or a key. */
  readonly id: string
  /** The name that clients send: exact, or `provider/*`. */
  readonly alias: string
  readonly provider: string
  /** The model's name upstream; for a wildcard the part after the slash of the request. */
  readonly upstreamModel: string
  readonly protocol: Protocol
  /** Base address without a trailing slash; a path prefix is kept. */
  readonly apiBase: string
  readonly apiKey: string | undefined
  readonly headers: Readonly<Record<string, string>>
  readonly weight: number
  readonly timeouts: UpstreamTimeouts
}

export interface Limits {
  /** Running streams per process; above it new calls get 529. */
  readonly maxStreams: number
  /** Sessions that this process runs at once. */
  readonly maxSessions: number
}

/** All that the environment and the configuration file decide, frozen at start. */
export interface Config {
  readonly host: string
  readonly port: number
  /** Undefined: authentication is off, and only loopback may call. */
  readonly masterKey: string | undefined
  /** True lets a server without a key listen on other addresses than loopback. */
  readonly insecureNoAuth: boolean
  /** Undefined: the embedded PostgreSQL in the data folder. */
  readonly databaseUrl: string | undefined
  readonly dataDir: string
  readonly role: 'all' | 'api' | 'worker'
  readonly logLevel: string
  readonly deployments: readonly Deployment[]
  /** True: the scripted model `demo` exists. */
  readonly demo: boolean
  /** `host:port` of private addresses that may be called. */
  readonly outboundAllow: readonly string[]
  readonly limits: Limits
  /** The configuration file that was read. */
  readonly file: string | undefined
  /** Things the operator should know, said once at start. */
  readonly warnings: readonly string[]
}
