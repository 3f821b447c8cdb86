import { countOf, isRecord } from '../../platform/json.ts'
import type { UsageUpdate } from '../translated/model-event.ts'

/**
 * Totals so far out of a chunk's `usageMetadata`; undefined when it states none. Gemini's prompt tokens contain the
 * cached ones, and its answer's tokens leave out the thoughts.
 */
export function geminiUsageOf(metadata: unknown): UsageUpdate | undefined {
  if (!isRecord(metadata)) return undefined
  const prompt = countOf(metadata['promptTokenCount'])
  const cached = countOf(metadata['cachedContentTokenCount'])
  const fed = countOf(metadata['toolUsePromptTokenCount'])
  const answered = countOf(metadata['candidatesTokenCount'])
  const thought = countOf(metadata['thoughtsTokenCount'])
  const usage = {
    ...(prompt !== undefined && { input_tokens: Math.max(0, prompt - (cached ?? 0)) + (fed ?? 0) }),
    ...(cached !== undefined && { cache_read_tokens: cached }),
    ...((answered ?? thought) !== undefined && { output_tokens: (answered ?? 0) + (thought ?? 0) }),
    ...(thought !== undefined && { reasoning_tokens: thought }),
  }
  return Object.keys(usage).length === 0 ? undefined : usage
}
