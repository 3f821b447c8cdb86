import { isRecord, type Json, recordOf } from '../../platform/json.ts'
import type { UsageUpdate } from '../translated/model-event.ts'
import { tokenCount as count } from './token-counts.ts'

/**
 * The counts of Chat's `usage` object in Anthropic's split; undefined when it states none. OpenAI's prompt tokens contain
 * those read from and written to a cache, Anthropic's input tokens do not.
 */
export function chatUsageOf(usage: unknown): UsageUpdate | undefined {
  if (!isRecord(usage)) return undefined
  const details = recordOf(usage['prompt_tokens_details'])
  const prompt = count(usage['prompt_tokens'])
  const read =
    count(details['cached_tokens']) ?? count(usage['prompt_cache_hit_tokens']) ?? count(usage['cached_tokens'])
  const written = count(details['cache_write_tokens'])
  const reasoning = count(recordOf(usage['completion_tokens_details'])['reasoning_tokens'])
  const output = outputOf(usage, prompt, reasoning)
  const update: UsageUpdate = {
    ...(prompt !== undefined && { input_tokens: Math.max(0, prompt - (read ?? 0) - (written ?? 0)) }),
    ...(read !== undefined && { cache_read_tokens: read }),
    ...(written !== undefined && { cache_write_5m_tokens: written }),
    ...(output !== undefined && { output_tokens: output }),
    ...(reasoning !== undefined && { reasoning_tokens: reasoning }),
  }
  return Object.keys(update).length === 0 ? undefined : update
}

/** Completion tokens contain the reasoning tokens, but for providers whose total shows that they count them apart. */
function outputOf(usage: Json, prompt: number | undefined, reasoning: number | undefined): number | undefined {
  const completion = count(usage['completion_tokens'])
  if (completion === undefined || prompt === undefined || !reasoning) return completion
  return count(usage['total_tokens']) === prompt + completion + reasoning ? completion + reasoning : completion
}
