import { isRecord, type Json, recordOf, recordsOf } from '../../platform/json.ts'
import type { UsageUpdate } from '../translated/model-event.ts'
import { tokenCount } from './token-counts.ts'

/**
 * The `usage` of a response in Anthropic's split: cached and written tokens are taken out of the input, reasoning stays
 * in the output. Writes that live 30 minutes count as the shorter kind, those of 12 hours as the longer one. Searches are
 * in no usage: they are counted in the response's output.
 */
export function responsesUsageOf(usage: unknown, output: unknown): UsageUpdate {
  if (!isRecord(usage)) return {}
  const input = count(usage, 'input_tokens')
  const answered = count(usage, 'output_tokens')
  const reasoning = count(recordOf(usage['output_tokens_details']), 'reasoning_tokens')
  const searches = recordsOf(output).filter(({ type }) => type === 'web_search_call').length
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
    ...(answered !== undefined && { output_tokens: answered }),
    ...(reasoning !== undefined && { reasoning_tokens: reasoning }),
    ...(searches > 0 && { web_searches: searches }),
  }
}

const count = (record: Json, name: string): number | undefined => tokenCount(record[name])
