import { isRecord } from '../../../platform/json.ts'
import { tokenCount } from '../../counting/token-counts.ts'
import type { UsageUpdate } from '../../translated/model-event.ts'

/** Converse counts as Anthropic does: `inputTokens` holds no cached ones. Undefined when nothing is stated. */
export function usageOf(usage: unknown): UsageUpdate | undefined {
  if (!isRecord(usage)) return undefined
  const input = tokenCount(usage['inputTokens'])
  const output = tokenCount(usage['outputTokens'])
  const read = tokenCount(usage['cacheReadInputTokens'])
  const written = tokenCount(usage['cacheWriteInputTokens'])
  const hour = hourWrites(usage['cacheDetails'])
  return {
    ...(input !== undefined && { input_tokens: input }),
    ...(read !== undefined && { cache_read_tokens: read }),
    ...(written !== undefined && { cache_write_5m_tokens: Math.max(0, written - hour), cache_write_1h_tokens: hour }),
    ...(output !== undefined && { output_tokens: output }),
  }
}

/** Tokens that were written for an hour: the rest of the writes lives five minutes. */
function hourWrites(details: unknown): number {
  const entries: readonly unknown[] = Array.isArray(details) ? details : []
  return entries.reduce((sum: number, entry) => {
    const isHour = isRecord(entry) && (entry['ttl'] === '1h' || entry['ttl'] === 'T1H')
    return isHour ? sum + (tokenCount(entry['inputTokens']) ?? 0) : sum
  }, 0)
}
