import type { Target } from '../call.ts'
import type { AnthropicRequest } from '../translated/codec.ts'
import type { Degradation } from '../translated/degradations.ts'
import type { AnswerWriter } from './answer-writer.ts'

/** What a conversion may know besides the request. */
export interface IngressContext {
  readonly target: Target
  /** True when the client wants a stream. */
  readonly stream: boolean
  /** The model's name as the client spelt it. */
  readonly model: string
  readonly requestId: string
  /** Seconds since 1970, as OpenAI's objects state when they were made. */
  readonly createdAt: number
}

/** A request in Anthropic's format, and what turns its answer back. */
export interface Conversion {
  readonly body: AnthropicRequest
  readonly degraded: readonly Degradation[]
  readonly writer: AnswerWriter
}

/**
 * Serves clients of one format by way of Anthropic's. Throws `invalid_request` that names the field for what has no
 * equivalent and must not be dropped.
 */
export type Ingress = (request: Readonly<Record<string, unknown>>, context: IngressContext) => Conversion
