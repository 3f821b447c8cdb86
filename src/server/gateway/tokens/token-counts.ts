import { isRecord, type Json } from '../../platform/json.ts'

/** Tokens of images that a tool of the provider generated. They are charged at the price of an image model. */
export interface ImageTokens {
  readonly input: number
  /** Part of the input. */
  readonly inputImages: number
  readonly output: number
}

/** Tokens of audio in each of these counts. They may have a price other than that of text. */
export interface AudioTokens {
  readonly input: number
  readonly cacheRead: number
  readonly output: number
}

/** Tokens of a call in Anthropic's split: input, cache reads and cache writes do not overlap. */
export interface TokenCounts {
  readonly input_tokens: number
  readonly cache_read_tokens: number
  readonly cache_write_5m_tokens: number
  readonly cache_write_1h_tokens: number
  readonly output_tokens: number
  /** Part of the output; 0 when the upstream does not report it. */
  readonly reasoning_tokens: number
  /** Searches that the provider made for the call. */
  readonly web_searches: number
  /** Searches of the client's stored files that the provider made. */
  readonly file_searches: number
  /** Containers in which the provider ran code. */
  readonly code_containers: number
  /** True when at least one count is estimated, as for an interrupted stream. */
  readonly estimated: boolean
  /** Tier that served the call, where the upstream states it: `service_tier` of OpenAI, `speed` of Anthropic. */
  readonly tier?: string
  readonly images?: ImageTokens
  /** Absent without audio. */
  readonly audio?: AudioTokens
}

export const noTokens: TokenCounts = {
  input_tokens: 0,
  cache_read_tokens: 0,
  cache_write_5m_tokens: 0,
  cache_write_1h_tokens: 0,
  output_tokens: 0,
  reasoning_tokens: 0,
  web_searches: 0,
  file_searches: 0,
  code_containers: 0,
  estimated: false,
}

/**
 * Returns `counts` updated from a `usage` object in Anthropic's format. Its counts are running totals, so they replace
 * earlier ones; but some servers end a stream with zeros for the input, which replace nothing. Cache writes without a
 * split by lifetime count as 5-minute ones.
 */
export function withUsage(counts: TokenCounts, usage: unknown): TokenCounts {
  if (!isRecord(usage)) return counts
  const split = isRecord(usage['cache_creation']) ? usage['cache_creation'] : {}
  const hour = tokenCount(split['ephemeral_1h_input_tokens'])
  const fiveMinutes = tokenCount(split['ephemeral_5m_input_tokens'])
  const written = tokenCount(usage['cache_creation_input_tokens']) || undefined
  return {
    input_tokens: tokenCount(usage['input_tokens']) || counts.input_tokens,
    cache_read_tokens: tokenCount(usage['cache_read_input_tokens']) || counts.cache_read_tokens,
    cache_write_5m_tokens: fiveMinutes ?? unsplit(written, hour, counts) ?? counts.cache_write_5m_tokens,
    cache_write_1h_tokens: hour ?? counts.cache_write_1h_tokens,
    output_tokens: tokenCount(usage['output_tokens']) ?? counts.output_tokens,
    reasoning_tokens: part(usage, 'output_tokens_details', 'thinking_tokens') ?? counts.reasoning_tokens,
    web_searches: part(usage, 'server_tool_use', 'web_search_requests') ?? counts.web_searches,
    file_searches: counts.file_searches,
    code_containers: counts.code_containers,
    estimated: counts.estimated,
    ...tierIn(usage['speed'] ?? counts.tier),
  }
}

/** Returns the tier that an upstream states as a count; empty for any other value. */
export const tierIn = (tier: unknown): Pick<TokenCounts, 'tier'> => (typeof tier === 'string' ? { tier } : {})

/** Returns a count in an optional nested object. */
function part(usage: Json, object: string, name: string): number | undefined {
  const given = usage[object]
  return isRecord(given) ? tokenCount(given[name]) : undefined
}

/** Subtracts 1-hour writes, which an earlier split may have counted, from a total without a split. */
function unsplit(written: number | undefined, hour: number | undefined, counts: TokenCounts): number | undefined {
  return written === undefined ? undefined : Math.max(0, written - (hour ?? counts.cache_write_1h_tokens))
}

/** Above any real call: a higher count is an upstream error and must not be billed. */
const maxTokens = 1_000_000_000

/** Validates a count of an upstream; undefined for anything that cannot be a number of tokens. */
export const tokenCount = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 && value <= maxTokens ? value : undefined
