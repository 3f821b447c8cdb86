import type { SessionEvent } from '../../contract/events.ts'
import type { TokenUsage } from './events.ts'

type EventOf<Type extends SessionEvent['type']> = Extract<SessionEvent, { readonly type: Type }>

/** Adds up the tokens of a run's model requests, by model. */
export class RunUsage {
  readonly #byModel = new Map<string, TokenUsage>()
  #model = ''

  /** One entry per model; empty before the end of the first request. */
  get entries(): readonly TokenUsage[] {
    return [...this.#byModel.values()]
  }

  started({ model }: EventOf<'span.model_request_start'>): void {
    this.#model = model ?? ''
  }

  ended({ model_usage: usage }: EventOf<'span.model_request_end'>): void {
    if (!usage) return
    const { cache_read_input_tokens: read = 0, cache_creation_input_tokens: written = 0 } = usage
    const model = this.#model
    const before = this.#byModel.get(model)
    // The counts of a request are disjoint; the protocol counts the caches as input.
    const inputTokens = (before?.inputTokens ?? 0) + usage.input_tokens + read + written
    const outputTokens = (before?.outputTokens ?? 0) + usage.output_tokens
    this.#byModel.set(model, {
      ...(model !== '' && { model }),
      inputTokens,
      outputTokens,
      totalTokens: inputTokens + outputTokens,
      cachedInputTokens: (before?.cachedInputTokens ?? 0) + read,
      cacheWriteInputTokens: (before?.cacheWriteInputTokens ?? 0) + written,
    })
  }
}
