import type { ErrorCode } from '../../../../contract/error-codes.ts'
import { openAiError } from '../../../../contract/openai.ts'
import { isRecord, recordsOf, textOf } from '../../../platform/json.ts'
import type { Citation } from '../../core/answer-event.ts'
import type { UpstreamError } from '../../core/call.ts'
import type { TokenCounts } from '../../tokens/token-counts.ts'

/** Citation of a web page in OpenAI's formats. */
export interface UrlCitation {
  readonly url: string
  readonly title: string
}

/** Returns the page of a citation; an empty list for other sources, which OpenAI's formats cannot represent. */
export const urlCitations = ({ url, title }: Citation): readonly UrlCitation[] =>
  url === undefined ? [] : [{ url, title: title || url }]

/** Returns input tokens including cache reads and writes, as other formats count them. */
function inputTokens(usage: TokenCounts) {
  const written = usage.cache_write_5m_tokens + usage.cache_write_1h_tokens
  return { written, all: usage.input_tokens + usage.cache_read_tokens + written }
}

/** Returns usage in the format of Chat Completions. */
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

/** Returns usage in the format of Responses. */
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

/** Returns usage in Gemini's format, which counts thoughts separately from the answer. */
export function geminiUsage(usage: TokenCounts) {
  const { all } = inputTokens(usage)
  const thoughts = Math.min(usage.reasoning_tokens, usage.output_tokens)
  return {
    promptTokenCount: all,
    ...(usage.cache_read_tokens > 0 && { cachedContentTokenCount: usage.cache_read_tokens }),
    candidatesTokenCount: usage.output_tokens - thoughts,
    ...(thoughts > 0 && { thoughtsTokenCount: thoughts }),
    totalTokenCount: all + usage.output_tokens,
  }
}

const tooLong = /prompt is too long|context (window|length)|maximum context/i

/** Returns the error body for OpenAI's clients. Some clients check for the code `context_length_exceeded`. */
export function openAiProblem(code: ErrorCode, message: string, reason?: UpstreamError['reason']) {
  const isRequest = code === 'invalid_request' || code === 'payload_too_large'
  if (reason === 'context_window' || (isRequest && tooLong.test(message)))
    return openAiError('invalid_request', message, 'context_length_exceeded')
  return reason === 'policy' ? openAiError('invalid_request', message, 'content_filter') : openAiError(code, message)
}

/** Cited sources that are missing in a text. */
interface CitedSources {
  /** Text to append; empty when the text contains all of its sources. */
  readonly list: string
  /** True when some sources were left out. */
  readonly hasMore: boolean
}

/** Returns the cited pages whose URL is not in `text`. JSON gets no list: appended text would make it invalid. */
export function citedSources(annotations: unknown, text: string): CitedSources {
  const cited = recordsOf(annotations)
  if (cited.length === 0) return { list: '', hasMore: false }
  const pages = new Map<string, string>()
  for (const citation of cited) {
    // Chat Completions nests the page in `url_citation`.
    const { url, title } = isRecord(citation['url_citation']) ? citation['url_citation'] : citation
    const address = textOf(url)
    if (citation['type'] === 'url_citation' && address !== '' && !text.includes(address))
      pages.set(address, textOf(title))
  }
  const hasOthers = cited.some(({ type }) => type !== 'url_citation')
  if (pages.size === 0) return { list: '', hasMore: hasOthers }
  if (/^\s*[{[]/.test(text)) return { list: '', hasMore: true }
  const lines = [...pages].map(([url, title]) => (title ? `- ${title}: ${url}` : `- ${url}`))
  return { list: `\n\nSources:\n${lines.join('\n')}`, hasMore: hasOthers }
}
