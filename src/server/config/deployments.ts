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
  readonly inputAudio?: number
  readonly cacheReadAudio?: number
  readonly outputAudio?: number
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
