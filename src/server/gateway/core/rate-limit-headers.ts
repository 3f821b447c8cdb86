import type { Hold, RateLimit, RateLimitReached, RateLimits } from '../../budgets/budgets.ts'
import { AppError } from '../../platform/errors.ts'
import type { Call, CallKind, Sink } from './call.ts'

type Headers = Readonly<Record<string, string>>

/** Whose headers the clients of a format read, OpenAI's where none is named; Google's clients read none. */
const formats: Readonly<Partial<Record<CallKind, 'anthropic' | 'google'>>> = {
  messages: 'anthropic',
  count_tokens: 'anthropic',
  gemini: 'google',
  gemini_count: 'google',
  gemini_embed: 'google',
  gemini_embed_batch: 'google',
}

/** What the caller reads of its budgets with every answer. */
export const headersOfHold = (hold: Hold, { kind }: Pick<Call, 'kind'>): Record<string, string> => ({
  ...(hold.warning !== undefined && { 'x-switchyard-budget-warning': hold.warning }),
  ...(hold.rateLimits && rateLimitHeaders(kind, hold.rateLimits)),
})

/** Where the answer goes: without the upstream's rate limits where the caller has limits of ours. */
export const sinkUnder = (hold: Hold | undefined, { kind }: Pick<Call, 'kind'>, sink: Sink): Sink =>
  hold?.rateLimits ? withOwnLimits(sink, rateLimitHeaders(kind, hold.rateLimits)) : sink

/** The limits that refused a call; empty for any other error. */
export const limitsReached = (error: unknown, { kind }: Pick<Call, 'kind'>): Record<string, string> =>
  isRateLimitReached(error) && error.limits ? rateLimitHeaders(kind, error.limits) : {}

const isRateLimitReached = (error: unknown): error is RateLimitReached =>
  error instanceof AppError && error.code === 'rate_limited' && 'limits' in error

/** The limits of a caller in the headers of its format: `anthropic-ratelimit-*` or `x-ratelimit-*`. */
export function rateLimitHeaders(kind: CallKind, { requests, tokens }: RateLimits): Record<string, string> {
  const format = formats[kind]
  if (format === 'google') return {}
  const spell = format === 'anthropic' ? ofAnthropic : ofOpenAi
  return { ...(requests && spell('requests', requests)), ...(tokens && spell('tokens', tokens)) }
}

const ofAnthropic = (name: string, { limit, remaining, resetSeconds }: RateLimit) => ({
  [`anthropic-ratelimit-${name}-limit`]: String(limit),
  [`anthropic-ratelimit-${name}-remaining`]: String(remaining),
  [`anthropic-ratelimit-${name}-reset`]: new Date(Date.now() + resetSeconds * 1_000).toISOString().replace(/\.\d+/, ''),
})

const ofOpenAi = (name: string, { limit, remaining, resetSeconds }: RateLimit) => ({
  [`x-ratelimit-limit-${name}`]: String(limit),
  [`x-ratelimit-remaining-${name}`]: String(remaining),
  [`x-ratelimit-reset-${name}`]: `${resetSeconds}s`,
})

const upstreams = /^(anthropic|x)-ratelimit-/

/** The same sink with the caller's own limits in place of the upstream's, which would be taken for them. */
export const withOwnLimits = (sink: Sink, own: Headers): Sink => ({
  head(status, headers) {
    const others = Object.entries(headers).filter(([name]) => !upstreams.test(name))
    sink.head(status, { ...Object.fromEntries(others), ...own })
  },
  data: chunk => sink.data(chunk),
  onDrain: resume => sink.onDrain(resume),
  end: chunk => sink.end(chunk),
  ...(sink.cut && { cut: () => sink.cut?.() }),
})
