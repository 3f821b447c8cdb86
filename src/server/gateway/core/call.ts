import type { Deployment, Protocol } from '../../config/config.ts'
import type { Caller } from '../../http/caller.ts'
import type { Leaving } from '../../platform/leaving.ts'
import type { OwnMembers } from '../bytes/json-members.ts'
import type { Span } from '../bytes/json-scanner.ts'
import type { TokenCounts } from '../tokens/token-counts.ts'
import type { Degradation } from './degradations.ts'

/** The session on whose behalf a call is made; booked with it. */
export interface CallSession {
  readonly session_id: string
  readonly agent_id: string
  readonly owner_id: string
  readonly prompt_id: string
  readonly run_id: string
}

/**
 * What a client asks for, and with it the format of both bodies: `messages` and `count_tokens` are Anthropic's,
 * `chat`, `embeddings` and all that begin with `responses` are OpenAI's, `gemini` and `gemini_count` are Google's.
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

/** Amazon Bedrock's own formats, which its models alone serve. */
export type BedrockKind = 'converse' | 'invoke'

export const isBedrock = (kind: CallKind): kind is BedrockKind => kind === 'converse' || kind === 'invoke'

/** OpenAI's other endpoints: passthrough to upstreams that have them. `endpoints/table.ts` describes each. */
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

/** True for calls that count tokens: they are free, and say nothing about how a deployment answers. */
export const isCount = (kind: CallKind): boolean =>
  kind === 'count_tokens' || kind === 'gemini_count' || kind === 'responses_count'

/** What the address of a call says, in formats whose bodies do not. */
export interface Address {
  readonly model: string
  readonly stream: boolean
}

/** One model call, from a client over HTTP or from a runtime in this process. */
export interface Call {
  readonly kind: CallKind
  /** JSON or a form in the format of `kind`. It is forwarded byte for byte where the upstream speaks that format. */
  readonly body: Buffer
  /** Present where the path names the model: in Google's format, and for forms on Azure's paths. */
  readonly address?: Address
  /** In lower case. Only `anthropic-*`, `x-claude-code-*` and harmless `openai-*` ones go on, each to its own kind. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  /** `?beta=true`, or empty. Goes along to upstreams of Anthropic's format. */
  readonly query: string
  readonly requestId: string
  readonly caller: Pick<Caller, 'principal' | 'key'>
  readonly session?: CallSession
  /** The id of the only deployment that may serve the call: it has what the call goes on from. */
  readonly deployment?: string
  /** Present in Responses calls. `isStored`: the client lets its answer be stored. `isKept`: the gateway stores what it translates. */
  readonly chain?:
    | { readonly previousId: string | undefined; readonly isStored: boolean; readonly isKept: boolean }
    | undefined
  /** Aborts when nobody waits for the answer any more. */
  readonly signal: Leaving
  /** Ends the call because somebody stopped it. Present for calls of clients; those of a session end with its run. */
  readonly stop?: () => void
}

/**
 * Where an answer goes: `head` once, `data` any number of times, `end` once. After the call's signal has aborted
 * nothing more comes. Chunks may be cut anywhere; what they hold together is exactly the answer's body.
 */
export interface Sink {
  head(status: number, headers: Readonly<Record<string, string>>): void
  /** False asks to wait until `onDrain` calls back before sending more. */
  data(chunk: Buffer): boolean
  /** Calls back once, when there is room again. */
  onDrain(resume: () => void): void
  end(chunk?: Buffer): void
  /** Ends an answer that is not whole, so that the client sees it; for formats that cannot state a failure themselves. */
  cut?(): void
}

/** Resolves when a sink has room again, or nobody waits for the answer any more. */
export function drained(sink: Sink, signal: Leaving): Promise<void> {
  return new Promise(resolve => {
    const done = () => {
      signal.removeEventListener('abort', done)
      resolve()
    }
    signal.addEventListener('abort', done, { once: true })
    sink.onDrain(done)
  })
}

/** What some models charge for besides tokens, or at a rate of its own: counts by unit. */
export type Unit =
  | 'character'
  | 'second'
  | 'image'
  | 'query'
  | 'audio_token'
  | 'image_token'
  | 'web_search'
  | 'web_search_preview'
  | 'file_search'
  | 'code_container'
export type Units = Readonly<Partial<Record<Unit, number>>>

/** How a call ended. What was sent to the sink says the same to the client. */
export interface Outcome {
  readonly outcome: 'completed' | 'failed' | 'aborted'
  /** The status that the sink got; undefined when the caller left before. */
  readonly status: number | undefined
  readonly stopReason: string | undefined
  readonly usage: TokenCounts
  /** From the start of the call to the first content; undefined without any. */
  readonly firstContentMs: number | undefined
  /** What the upstream's protocol could not carry, found in the request or in the answer. */
  readonly degraded?: readonly Degradation[]
  /** What the call used besides tokens. */
  readonly units?: Units
  /** As in `Refusal`, where the upstream's refusal was passed on. */
  readonly reason?: NonNullable<Refusal['reason']>
  /**
   * How long the upstream may have made output that was not counted: all the time that it had the request, when its answer
   * ended before it stated the usage; the time before the first content, when it thinks unseen and never states any. It
   * may bill for all of that. The ledger gets an estimate then.
   */
  readonly unstatedMs?: number
}

/** What the checks of a request body found. The parsed body itself is let go: a stream may run for minutes. */
export interface Ask {
  readonly model: string
  /** Where the top-level `model` string stands in the body; empty where the address names the model. */
  readonly modelSpan: Span
  readonly stream: boolean
  /** 0 when the request names none. */
  readonly maxTokens: number
  /** What the scan of the body found; absent where the body is no JSON. */
  readonly members?: OwnMembers
}

/** A model at a deployment. */
export interface DeployedModel {
  readonly deployment: Deployment
  /** The model's name there. */
  readonly upstreamModel: string
}

/** The name that prices, limits and the rules of reasoning go by: that of the model behind the deployment, where it is known. */
export const baseModelOf = ({
  deployment,
  upstreamModel,
}: Pick<DeployedModel, 'upstreamModel'> & { readonly deployment: Pick<Deployment, 'baseModel'> }): string =>
  deployment.baseModel?.model ?? upstreamModel

/** A model at a deployment, chosen for a call, with the protocol that the call is made in. */
export interface Target extends DeployedModel {
  readonly protocol: Protocol
}

/** One try of a call at one deployment. */
export interface Attempt {
  readonly call: Call
  readonly ask: Ask
  readonly target: Target
  /** Response headers of ours that go out with whatever this attempt answers. */
  readonly ownHeaders: Readonly<Record<string, string>>
  /** `performance.now()` when the call came in. */
  readonly startedMs: number
  /** True: an answer that only declines is given up as a refusal by policy, since another model may answer. */
  readonly hasPolicyFallback?: true
}

/**
 * An upstream's own refusal, complete, with nothing sent to the sink yet: it can still be retried elsewhere. An error
 * event in the hold-back window of a stream is one too, with status 529. Source: Gateway, section 3.
 */
export interface Refusal {
  readonly outcome: 'refused'
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** In the format of the call. */
  readonly body: Buffer
  /** What another model may be able to do: take a longer prompt, or answer what this one's policy refuses. */
  readonly reason?: 'context_window' | 'policy'
  readonly degraded?: readonly Degradation[]
  /** What the upstream counted for an answer that was given up, and bills. */
  readonly usage?: TokenCounts
}

/** An answer that was given up for another model's. */
export interface GivenUp {
  readonly target: Target
  readonly usage: TokenCounts
}

/**
 * Runs attempts at deployments of one kind. Rejects with AppError only while the sink is untouched; later failures are
 * told in the stream itself.
 */
export type Lane = (attempt: Attempt, sink: Sink) => Promise<Outcome | Refusal>
