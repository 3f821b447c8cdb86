/** Tokens of the model requests of a session, as in `session.usage`. */
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

/** Adds the counters of one request to the totals; missing counters count as 0. */
export function addUsage(total: UsageTotals, usage: Partial<UsageTotals> | null | undefined): UsageTotals {
  const counts = usage ?? {}
  return {
    input_tokens: total.input_tokens + (counts.input_tokens ?? 0),
    output_tokens: total.output_tokens + (counts.output_tokens ?? 0),
    cache_creation_input_tokens: total.cache_creation_input_tokens + (counts.cache_creation_input_tokens ?? 0),
    cache_read_input_tokens: total.cache_read_input_tokens + (counts.cache_read_input_tokens ?? 0),
  }
}

/**
 * Returns the tokens of a request and its answer in the model's context window; undefined when the provider did not
 * count the input.
 */
export function tokensInWindow(usage: Partial<UsageTotals> | null | undefined): number | undefined {
  const { input_tokens, output_tokens, cache_creation_input_tokens, cache_read_input_tokens } = addUsage(noUsage, usage)
  const input = input_tokens + cache_creation_input_tokens + cache_read_input_tokens
  return input > 0 ? input + output_tokens : undefined
}
