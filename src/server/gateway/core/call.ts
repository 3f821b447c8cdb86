import type { Deployment } from '../../config/deployments.ts'
import type { Protocol } from '../../config/protocols.ts'
import type { Caller } from '../../http/caller.ts'
import type { CancelSignal } from '../../platform/cancel-signal.ts'
import type { TraceHeaders } from '../../platform/trace-context.ts'
import type { OwnMembers } from '../bytes/json-members.ts'
import type { Span } from '../bytes/json-scanner.ts'
import type { FilledRequest } from '../files/filled-request.ts'
import type { TokenCounts } from '../tokens/token-counts.ts'
import type { Degradation } from './degradations.ts'

/** Session that makes a call. Stored with the call in the ledger. */
export interface CallSession {
  readonly session_id: string
  readonly agent_id: string
  readonly owner_id: string
  readonly prompt_id: string
  readonly run_id: string
}

/**
 * Kind of a call, which determines the format of request and response: `messages` and `count_tokens` are Anthropic's,
 * `chat`, `embeddings` and those beginning with `responses` are OpenAI's, those beginning with `gemini` are Google's.
 */
export type CallKind =
  | 'messages'
  | 'count_tokens'
  | 'chat'
  | 'responses'
  | 'responses_count'
  | 'responses_compact'
  | 'embeddings'
  | 'gemini'
  | 'gemini_count'
  | 'gemini_embed'
  | 'gemini_embed_batch'
  | BedrockKind
  | EndpointKind

/** Amazon Bedrock's own formats, which only its models serve. */
export type BedrockKind = 'converse' | 'invoke'

export const isBedrock = (kind: CallKind): kind is BedrockKind => kind === 'converse' || kind === 'invoke'

/** OpenAI's other endpoints: passthrough to upstreams that have them. See `endpoints/table.ts`. */
export type EndpointKind =
  | 'completions'
  | 'moderations'
  | 'rerank'
  | 'images'
  | 'image_edits'
  | 'image_variations'
  | 'speech'
  | 'transcriptions'
  | 'translations'

/** True for calls that count tokens. They are free, and their failures do not affect the health of a deployment. */
export const isCount = (kind: CallKind): boolean =>
  kind === 'count_tokens' || kind === 'gemini_count' || kind === 'responses_count'

/** Model and streaming of a call, in formats that state them in the URL and not in the body. */
export interface Address {
  readonly model: string
  readonly stream: boolean
}

/** Answer that a provider's batch API gave to a request. */
export interface BatchAnswer {
  /** Id of the deployment whose provider answered. */
  readonly deployment: string
  readonly upstreamModel: string
  /** As the provider answers a single call. */
  readonly body: Buffer
  /** Amount that was reserved for the request, in US dollars as an exact decimal. */
  readonly reservedUsd: string
}

/** One model call, from a client over HTTP or from a runtime in this process. */
export interface Call {
  readonly kind: CallKind
  /** JSON or a form in the format of `kind`. Forwarded byte for byte where the upstream has the same format. */
  readonly body: Buffer
  /** Present where the path contains the model: in Google's and Bedrock's formats, and for forms on Azure's paths. */
  readonly address?: Address
  /** Names in lower case. Only `anthropic-*`, `x-claude-code-*` and safe `openai-*` headers are forwarded. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  /** Trace context for the upstream; absent unless `telemetry.otlp.propagate` is set. */
  readonly trace?: TraceHeaders
  /** Query of the URL with its `?`, such as `?beta=true`, or empty. Forwarded to upstreams of Anthropic's format. */
  readonly query: string
  readonly requestId: string
  readonly caller: Pick<Caller, 'principal' | 'key'>
  readonly session?: CallSession
  /** Batch that the call is a line of. */
  readonly batchId?: string
  /** Answer of the provider's batch API: the call is settled with it, and no upstream is called. */
  readonly batchAnswer?: BatchAnswer
  /** Id of the only deployment that may serve the call: it stores the state that the call continues from. */
  readonly deployment?: string
  /** Of Responses calls. `isStored`: the client allows storage. `isRetained`: the gateway stores a translated answer. */
  readonly chain?:
    | { readonly previousId: string | undefined; readonly isStored: boolean; readonly isRetained: boolean }
    | undefined
  /** Files of the caller whose content is in the body. Only valid for that very body: a hook may have replaced it. */
  readonly files?: FilledRequest
  /** Aborts when the client disconnects, the run ends or the call is stopped. */
  readonly signal: CancelSignal
  /** Stops the call. Present for calls of clients; calls of a session end with its run. */
  readonly stop?: () => void
  /** Called once the budgets and limits have admitted the call, before its first attempt. */
  readonly onAdmitted?: () => void
}

/**
 * Receives an answer: `head` once, `data` any number of times, `end` once. Receives no more calls after the call's
 * signal aborts. Chunks may be split anywhere; concatenated they are exactly the body of the answer.
 */
export interface Sink {
  head(status: number, headers: Readonly<Record<string, string>>): void
  /** Returns false when the sender should wait for `onDrain` before it sends more. */
  data(chunk: Buffer): boolean
  /** Calls `resume` once, when the sink accepts data again. */
  onDrain(resume: () => void): void
  end(chunk?: Buffer): void
  /** Breaks the connection of an incomplete answer; for formats that cannot report a failure in the stream. */
  cut?(): void
}

/** Resolves when a sink accepts data again, or the signal aborts. */
export function drained(sink: Sink, signal: CancelSignal): Promise<void> {
  return new Promise(resolve => {
    const done = () => {
      signal.removeEventListener('abort', done)
      resolve()
    }
    signal.addEventListener('abort', done, { once: true })
    sink.onDrain(done)
  })
}

/** Billing units besides tokens, or with their own rate. */
export type Unit =
  | 'character'
  | 'second'
  | 'image'
  | 'query'
  | 'audio_token'
  | 'audio_output_token'
  | 'image_token'
  | 'web_search'
  | 'web_search_preview'
  | 'file_search'
  | 'code_container'
export type Units = Readonly<Partial<Record<Unit, number>>>

/** Outcome of a call. Agrees with what the client received. */
export interface Outcome {
  readonly outcome: 'completed' | 'failed' | 'aborted'
  /** Status sent to the sink; undefined when the client disconnected before. */
  readonly status: number | undefined
  readonly stopReason: string | undefined
  readonly usage: TokenCounts
  /** Time from the start of the call to the first content; undefined without content. */
  readonly firstContentMs: number | undefined
  /** Degradations of the request and of the answer. */
  readonly degraded?: readonly Degradation[]
  /** Units used besides tokens. */
  readonly units?: Units
  /** As in `UpstreamError`, where that error was sent to the client. */
  readonly reason?: NonNullable<UpstreamError['reason']>
  /**
   * Time in which the upstream may have produced output without stating usage: the whole time of the request, when the
   * answer ended before its usage; the time before the first content, when the upstream reasons unseen and never states
   * usage. The upstream may bill that output, so the ledger gets an estimate.
   */
  readonly unstatedMs?: number
}

/** Result of the checks of a request. Does not retain the parsed body, since a stream may run for minutes. */
export interface ParsedRequest {
  readonly model: string
  /** Position of the top-level `model` string in the body; empty where the address contains the model. */
  readonly modelSpan: Span
  readonly stream: boolean
  /** Limit of output tokens; 0 when the request sets none. */
  readonly maxTokens: number
  /** Members that the scan of the body found; absent where the body is not JSON. */
  readonly members?: OwnMembers
}

/** A model at a deployment. */
export interface DeployedModel {
  readonly deployment: Deployment
  /** Name of the model at the deployment. */
  readonly upstreamModel: string
}

/** Returns the model name for prices, limits and traits: the configured base model, else the upstream's name. */
export const baseModelOf = ({
  deployment,
  upstreamModel,
}: Pick<DeployedModel, 'upstreamModel'> & { readonly deployment: Pick<Deployment, 'baseModel'> }): string =>
  deployment.baseModel?.model ?? upstreamModel

/** A model at a deployment, chosen for a call, with the protocol of the call. */
export interface Target extends DeployedModel {
  readonly protocol: Protocol
}

/** One attempt of a call at one deployment. */
export interface Attempt {
  readonly call: Call
  readonly parsed: ParsedRequest
  readonly target: Target
  /** Headers that the gateway adds to the answer of this attempt. */
  readonly ownHeaders: Readonly<Record<string, string>>
  /** `performance.now()` at the start of the call. */
  readonly startedMs: number
  /** True: an answer that only declines is discarded as a policy error, since a fallback may answer. */
  readonly hasPolicyFallback?: true
}

/**
 * Complete error response of an upstream, with the sink untouched, so that the call can be retried. Also made from an
 * error event in the hold-back window of a stream, with status 529. Source: Gateway, section 3.
 */
export interface UpstreamError {
  readonly outcome: 'refused'
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** In the format of the call. */
  readonly body: Buffer
  /** Why another model may succeed: a larger context window, or another content policy. */
  readonly reason?: 'context_window' | 'policy'
  readonly degraded?: readonly Degradation[]
  /** Usage of a discarded answer, which the upstream bills. */
  readonly usage?: TokenCounts
}

/** A billed answer that was discarded because a fallback may answer. */
export interface DiscardedAnswer {
  readonly target: Target
  readonly usage: TokenCounts
}

/**
 * Makes attempts at deployments: relays, translates or answers a call of one kind in one protocol. Rejects with
 * AppError only while the sink is untouched; later failures are reported in the stream.
 */
export type FormatAdapter = (attempt: Attempt, sink: Sink) => Promise<Outcome | UpstreamError>
