import type { RateLimit, RateLimitReached, RateLimits, Reservation } from '../../budgets/budgets.ts'
import { AppError } from '../../platform/errors.ts'
import type { Call, CallKind, Sink } from './call.ts'

type Headers = Readonly<Record<string, string>>

/** Vendor whose rate limit headers the clients of a kind read; OpenAI by default. Google's clients read none. */
const formats: Readonly<Partial<Record<CallKind, 'anthropic' | 'google'>>> = {
  messages: 'anthropic',
  count_tokens: 'anthropic',
  gemini: 'google',
  gemini_count: 'google',
  gemini_embed: 'google',
  gemini_embed_batch: 'google',
}

/** Returns the headers about the caller's budgets for every answer. */
export const budgetHeaders = (reservation: Reservation, { kind }: Pick<Call, 'kind'>): Record<string, string> => ({
  ...(reservation.warning !== undefined && { 'x-switchyard-budget-warning': reservation.warning }),
  ...(reservation.rateLimits && rateLimitHeaders(kind, reservation.rateLimits)),
})

/** Returns a sink that replaces the upstream's rate limit headers, where the caller has rate limits. */
export const sinkWithOwnLimits = (
  reservation: Reservation | undefined,
  { kind }: Pick<Call, 'kind'>,
  sink: Sink,
): Sink => (reservation?.rateLimits ? withOwnLimits(sink, rateLimitHeaders(kind, reservation.rateLimits)) : sink)

/** Returns the headers of the limits that rejected a call; empty for any other error. */
export const limitsReached = (error: unknown, { kind }: Pick<Call, 'kind'>): Record<string, string> =>
  isRateLimitReached(error) && error.limits ? rateLimitHeaders(kind, error.limits) : {}

const isRateLimitReached = (error: unknown): error is RateLimitReached =>
  error instanceof AppError && error.code === 'rate_limited' && 'limits' in error

/** Returns a caller's limits as headers of its format: `anthropic-ratelimit-*` or `x-ratelimit-*`. */
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

/** Returns a sink that replaces the upstream's limits by the caller's own, since clients could not distinguish them. */
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
