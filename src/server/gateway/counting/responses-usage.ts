import { isRecord, type Json } from '../../platform/json.ts'
import type { UsageUpdate } from '../translated/model-event.ts'
import { tokenCount } from './token-counts.ts'

/**
 * The `usage` of a response in Anthropic's split: cached and written tokens are taken out of the input, reasoning stays
 * in the output. Writes that live 30 minutes count as the shorter kind, those of 12 hours as the longer one.
 */
export function responsesUsageOf(usage: unknown): UsageUpdate {
  if (!isRecord(usage)) return {}
  const input = count(usage, 'input_tokens')
  const output = count(usage, 'output_tokens')
  const details = isRecord(usage['input_tokens_details']) ? usage['input_tokens_details'] : {}
  const cached = count(details, 'cached_tokens')
  const written = count(details, 'cache_write_tokens')
  const split = isRecord(details['cache_write_tokens_details']) ? details['cache_write_tokens_details'] : {}
  const longer = count(split, 'ttl_12h_tokens')
  return {
    ...(input !== undefined && { input_tokens: Math.max(0, input - (cached ?? 0) - (written ?? 0)) }),
    ...(cached !== undefined && { cache_read_tokens: cached }),
    ...(written !== undefined && { cache_write_5m_tokens: Math.max(0, written - (longer ?? 0)) }),
    ...(longer !== undefined && { cache_write_1h_tokens: longer }),
    ...(output !== undefined && { output_tokens: output }),
  }
}

const count = (record: Json, name: string): number | undefined => tokenCount(record[name])
