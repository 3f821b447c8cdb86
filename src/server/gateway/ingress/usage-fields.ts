import type { TokenCounts } from '../counting/token-counts.ts'

/** OpenAI's input tokens contain those that were read from the cache or written to it. */
function inputTokens(usage: TokenCounts) {
  const written = usage.cache_write_5m_tokens + usage.cache_write_1h_tokens
  return { written, all: usage.input_tokens + usage.cache_read_tokens + written }
}

/** Usage as Chat Completions states it. */
export function chatUsage(usage: TokenCounts) {
  const { written, all } = inputTokens(usage)
  return {
    prompt_tokens: all,
    completion_tokens: usage.output_tokens,
    total_tokens: all + usage.output_tokens,
    prompt_tokens_details: { cached_tokens: usage.cache_read_tokens, cache_write_tokens: written },
    completion_tokens_details: { reasoning_tokens: usage.reasoning_tokens },
  }
}

/** Usage as Responses states it. */
export function responseUsage(usage: TokenCounts) {
  const { written, all } = inputTokens(usage)
  return {
    input_tokens: all,
    input_tokens_details: { cached_tokens: usage.cache_read_tokens, cache_write_tokens: written },
    output_tokens: usage.output_tokens,
    output_tokens_details: { reasoning_tokens: usage.reasoning_tokens },
    total_tokens: all + usage.output_tokens,
  }
}
