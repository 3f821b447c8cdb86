import { isRecord, type Json, listOf, recordOf, recordsOf, textOf } from '../../platform/json.ts'
import type { UsageUpdate } from '../core/answer-event.ts'
import { type AudioTokens, tierIn, tokenCount } from './token-counts.ts'

/**
 * Returns the counts in a whole answer or a chunk of Chat Completions; undefined without counts. Groq and Moonshot put
 * usage into other fields.
 */
export function chatUsageIn(answer: Json): UsageUpdate | undefined {
  const [choice] = recordsOf(answer['choices'])
  const usage = chatUsageOf(answer['usage'] ?? recordOf(answer['x_groq'])['usage'] ?? choice?.['usage'])
  return usage && { ...usage, ...tierIn(answer['service_tier']) }
}

/** Returns the input tokens in the `usage` object of embeddings. Some servers report only the total. */
export function embeddingTokensOf(usage: unknown): number | undefined {
  const { prompt_tokens: prompt, total_tokens: total } = recordOf(usage)
  return tokenCount(prompt) ?? tokenCount(total)
}

/**
 * Converts the `usage` object of Chat Completions to Anthropic's split; undefined without counts. OpenAI's prompt
 * tokens include tokens read from and written to a cache, Anthropic's input tokens do not.
 */
export function chatUsageOf(usage: unknown): UsageUpdate | undefined {
  if (!isRecord(usage)) return undefined
  const details = recordOf(usage['prompt_tokens_details'])
  const prompt = tokenCount(usage['prompt_tokens'])
  const read =
    tokenCount(details['cached_tokens']) ??
    tokenCount(usage['prompt_cache_hit_tokens']) ??
    tokenCount(usage['cached_tokens'])
  const written = tokenCount(details['cache_write_tokens'])
  const reasoning = tokenCount(recordOf(usage['completion_tokens_details'])['reasoning_tokens'])
  const output = outputOf(usage, prompt, reasoning)
  // OpenAI does not report searches here; routers report them in Anthropic's field.
  const searches = tokenCount(recordOf(usage['server_tool_use'])['web_search_requests'])
  const update: UsageUpdate = {
    ...(prompt !== undefined && { input_tokens: Math.max(0, prompt - (read ?? 0) - (written ?? 0)) }),
    ...(read !== undefined && { cache_read_tokens: read }),
    ...(written !== undefined && { cache_write_5m_tokens: written }),
    ...(output !== undefined && { output_tokens: output }),
    ...(reasoning !== undefined && { reasoning_tokens: reasoning }),
    ...(searches !== undefined && { web_searches: searches }),
    ...audioOf({
      input: tokenCount(details['audio_tokens']),
      cacheRead: tokenCount(recordOf(details['cached_tokens_details'])['audio_tokens']),
      output: tokenCount(recordOf(usage['completion_tokens_details'])['audio_tokens']),
    }),
  }
  return Object.keys(update).length === 0 ? undefined : update
}

/** Returns the counts of audio; empty without any. The given input includes cached audio. */
function audioOf({ input = 0, cacheRead = 0, output = 0 }: Readonly<Record<keyof AudioTokens, number | undefined>>): {
  audio?: AudioTokens
} {
  if (input + cacheRead + output === 0) return {}
  return { audio: { input: Math.max(0, input - cacheRead), cacheRead, output } }
}

/**
 * Completion tokens include reasoning tokens, except at providers whose total shows that they count them separately.
 */
function outputOf(usage: Json, prompt: number | undefined, reasoning: number | undefined): number | undefined {
  const completion = tokenCount(usage['completion_tokens'])
  if (completion === undefined || prompt === undefined || !reasoning) return completion
  return tokenCount(usage['total_tokens']) === prompt + completion + reasoning ? completion + reasoning : completion
}

/**
 * Converts the `usage` of an OpenAI response to Anthropic's split: cached and written tokens are subtracted from the
 * input, reasoning stays in the output. Cache writes for 30 minutes count as 5-minute ones, those for 12 hours as
 * 1-hour ones. Provider tool calls are counted in the output, because usage does not hold them.
 */
export function responsesUsageOf(usage: unknown, output: unknown): UsageUpdate {
  if (!isRecord(usage)) return {}
  const input = count(usage, 'input_tokens')
  const answered = count(usage, 'output_tokens')
  const reasoning = count(recordOf(usage['output_tokens_details']), 'reasoning_tokens')
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
    ...providerCallsIn(output),
  }
}

/** Returns the counts in an OpenAI response, with its tier and generated images; empty without usage. */
export const responsesUsageIn = ({ usage, output, service_tier: tier, tool_usage: used }: Json): UsageUpdate =>
  isRecord(usage) ? { ...responsesUsageOf(usage, output), ...tierIn(tier), ...imagesIn(used) } : {}

/** Returns the tokens of generated images in the `tool_usage` of a response; empty without images. */
function imagesIn(used: unknown): UsageUpdate {
  const stated = recordOf(recordOf(used)['image_gen'])
  const output = tokenCount(stated['output_tokens'])
  if (!output) return {}
  const input = tokenCount(stated['input_tokens']) ?? 0
  const inputImages = tokenCount(recordOf(stated['input_tokens_details'])['image_tokens']) ?? 0
  return { images: { input, inputImages, output } }
}

/** Counts the calls in an output that OpenAI charges a fee for. */
function providerCallsIn(output: unknown): UsageUpdate {
  const items = recordsOf(output)
  const of = (type: string) => items.filter(item => item['type'] === type)
  // Opening and searching a found page is free.
  const searches = of('web_search_call').filter(({ action }) => (recordOf(action)['type'] ?? 'search') === 'search')
  const files = of('file_search_call').length
  const containers = new Set(of('code_interpreter_call').map(({ container_id: id }) => id)).size
  return {
    ...(searches.length > 0 && { web_searches: searches.length }),
    ...(files > 0 && { file_searches: files }),
    ...(containers > 0 && { code_containers: containers }),
  }
}

const count = (record: Json, name: string): number | undefined => tokenCount(record[name])

/**
 * Returns a reader of the running totals in the chunks of a stream, or in a whole response; undefined for a chunk
 * without usage. The last chunks of some models omit or zero earlier counts, so a count never falls back to 0.
 */
export function geminiUsageReader(): (chunk: unknown) => UsageUpdate | undefined {
  const stated: Record<string, unknown> = {}
  const queries = new Set<unknown>()
  return chunk => {
    const { usageMetadata: metadata, modelVersion, candidates } = recordOf(chunk)
    const searches = searchesOf(queries, candidates, modelVersion)
    const searched = searches > 0 && { web_searches: searches }
    if (!isRecord(metadata)) return searched || undefined
    for (const [name, value] of Object.entries(metadata)) {
      if (tokenCount(value) || stated[name] === undefined) stated[name] = value
    }
    const usage = geminiUsageOf(stated)
    return usage || searched ? { ...usage, ...searched } : undefined
  }
}

/** Up to Gemini 2.5 Google charges a prompt once that led to any search; later models are charged for each query. */
function searchesOf(queries: Set<unknown>, candidates: unknown, modelVersion: unknown): number {
  for (const { groundingMetadata } of recordsOf(candidates))
    for (const query of listOf(recordOf(groundingMetadata)['webSearchQueries'])) queries.add(query)
  if (queries.size < 2) return queries.size
  return /gemini-[12][.-]/.test(textOf(modelVersion)) ? 1 : queries.size
}

/**
 * Converts `usageMetadata` to Anthropic's split; undefined without counts. Gemini's prompt tokens include cached ones,
 * and its candidate tokens exclude thoughts.
 */
export function geminiUsageOf(metadata: unknown): UsageUpdate | undefined {
  if (!isRecord(metadata)) return undefined
  const prompt = tokenCount(metadata['promptTokenCount'])
  const cached = tokenCount(metadata['cachedContentTokenCount'])
  const fed = tokenCount(metadata['toolUsePromptTokenCount'])
  const answered = tokenCount(metadata['candidatesTokenCount'])
  const thought = tokenCount(metadata['thoughtsTokenCount'])
  const usage = {
    ...(prompt !== undefined && { input_tokens: Math.max(0, prompt - (cached ?? 0)) + (fed ?? 0) }),
    ...(cached !== undefined && { cache_read_tokens: cached }),
    ...((answered ?? thought) !== undefined && { output_tokens: (answered ?? 0) + (thought ?? 0) }),
    ...(thought !== undefined && { reasoning_tokens: thought }),
    ...audioOf({
      input: audioIn(metadata['promptTokensDetails']),
      cacheRead: audioIn(metadata['cacheTokensDetails']),
      output: audioIn(metadata['candidatesTokensDetails']),
    }),
  }
  return Object.keys(usage).length === 0 ? undefined : usage
}

/** Returns the tokens of audio in Google's counts by modality. */
const audioIn = (counts: unknown): number =>
  recordsOf(counts).reduce(
    (sum, { modality, tokenCount: count }) => sum + (modality === 'AUDIO' ? (tokenCount(count) ?? 0) : 0),
    0,
  )
