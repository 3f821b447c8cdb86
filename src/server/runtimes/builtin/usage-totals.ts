/** Tokens of the model requests of a session, as `session.usage` shows them. */
export interface UsageTotals {
  readonly input_tokens: number
  readonly output_tokens: number
  readonly cache_creation_input_tokens: number
  readonly cache_read_input_tokens: number
}

export const noUsage: UsageTotals = {
  input_tokens: 0,
  output_tokens: 0,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 0,
}

/** The totals with the counters of one more request; those that it lacks count 0. */
export function addUsage(total: UsageTotals, usage: unknown): UsageTotals {
  const counts = (usage ?? {}) as Partial<Record<keyof UsageTotals, number>>
  return {
    input_tokens: total.input_tokens + (counts.input_tokens ?? 0),
    output_tokens: total.output_tokens + (counts.output_tokens ?? 0),
    cache_creation_input_tokens: total.cache_creation_input_tokens + (counts.cache_creation_input_tokens ?? 0),
    cache_read_input_tokens: total.cache_read_input_tokens + (counts.cache_read_input_tokens ?? 0),
  }
}

/**
 * Tokens that a request and its answer fill of the model's window; undefined where the provider has not counted the
 * input.
 */
export function tokensInWindow(usage: unknown): number | undefined {
  const { input_tokens, output_tokens, cache_creation_input_tokens, cache_read_input_tokens } = addUsage(noUsage, usage)
  const input = input_tokens + cache_creation_input_tokens + cache_read_input_tokens
  return input > 0 ? input + output_tokens : undefined
}
