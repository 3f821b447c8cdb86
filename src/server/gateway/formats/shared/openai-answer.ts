import type { ErrorCode } from '../../../../contract/errors.ts'
import { openAiError } from '../../../../contract/openai.ts'
import { isRecord, recordsOf, textOf } from '../../../platform/json.ts'
import type { Citation } from '../../core/answer-event.ts'
import type { Refusal } from '../../core/call.ts'
import type { TokenCounts } from '../../tokens/token-counts.ts'

/** A page behind a text, as both of OpenAI's formats name it. */
export interface UrlCitation {
  readonly url: string
  readonly title: string
}

/** The page of a citation; none for other sources, which OpenAI's formats cannot name. */
export const urlCitations = ({ url, title }: Citation): readonly UrlCitation[] =>
  url === undefined ? [] : [{ url, title: title || url }]

/** The input tokens of other formats contain those that were read from the cache or written to it. */
function inputTokens(usage: TokenCounts) {
  const written = usage.cache_write_5m_tokens + usage.cache_write_1h_tokens
  return { written, all: usage.input_tokens + usage.cache_read_tokens + written }
}

/** Usage as Chat Completions states it. */
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

/** Usage as Responses states it. */
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

/** Usage as Gemini states it: thoughts are no part of the answer's tokens. */
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

/** A failure of a model call as OpenAI's clients read it. Some of them look for the code of a prompt too long. */
export function openAiProblem(code: ErrorCode, message: string, reason?: Refusal['reason']) {
  const isRequest = code === 'invalid_request' || code === 'payload_too_large'
  if (reason === 'context_window' || (isRequest && tooLong.test(message)))
    return openAiError('invalid_request', message, 'context_length_exceeded')
  return reason === 'policy' ? openAiError('invalid_request', message, 'content_filter') : openAiError(code, message)
}

/** What the annotations of a text say that the text itself does not. */
interface CitedSources {
  /** To be put behind the text; empty when the text names all of its sources. */
  readonly list: string
  /** True when something was left out. */
  readonly hasMore: boolean
}

/** The cited pages whose address is not in `text`. Behind JSON nothing can be put: it would no longer be JSON. */
export function citedSources(annotations: unknown, text: string): CitedSources {
  const cited = recordsOf(annotations)
  if (cited.length === 0) return { list: '', hasMore: false }
  const pages = new Map<string, string>()
  for (const citation of cited) {
    // Chat has the page in an object of its own.
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
