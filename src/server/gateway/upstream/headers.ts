import { apiVersion } from '../../../contract/api.ts'
import type { Call, Target } from '../call.ts'

type Headers = Readonly<Record<string, string | string[] | undefined>>

const forwarded = /^(anthropic-|x-claude-code-)/

/** Providers whose key travels as a Bearer token on Anthropic's routes. */
const bearerProviders = new Set(['openrouter', 'ollama'])

/** Headers toward an upstream of Anthropic's format. The caller's own credentials never go along. */
export function upstreamHeaders(call: Pick<Call, 'headers'>, { deployment }: Target): Record<string, string> {
  const headers: Record<string, string> = {
    'content-type': 'application/json',
    'accept-encoding': 'identity',
    'user-agent': `switchyard/${apiVersion}`,
    'anthropic-version': '2023-06-01',
  }
  for (const [name, value] of Object.entries(call.headers)) {
    if (value !== undefined && forwarded.test(name)) headers[name] = Array.isArray(value) ? value.join(', ') : value
  }
  const ownsCredential = 'authorization' in deployment.headers || 'x-api-key' in deployment.headers
  if (deployment.apiKey !== undefined && !ownsCredential) {
    if (bearerProviders.has(deployment.provider)) headers['authorization'] = `Bearer ${deployment.apiKey}`
    else headers['x-api-key'] = deployment.apiKey
  }
  return Object.assign(headers, deployment.headers)
}

const answered = /^(content-type|retry-after|request-id|anthropic-ratelimit-.*)$/

/** The upstream's headers that reach the client; all others are dropped. Security S54. */
export function relayedHeaders(headers: Headers): Record<string, string> {
  const relayed: Record<string, string> = {}
  for (const [name, value] of Object.entries(headers)) {
    const first = Array.isArray(value) ? value[0] : value
    if (first !== undefined && answered.test(name)) relayed[name] = first
  }
  return relayed
}

/** Extra headers of a stream, so that no proxy between us and the client holds it back. */
export const streamHeaders = { 'cache-control': 'no-cache', 'x-accel-buffering': 'no' } as const

/** `query` without parameters that could hold a key of ours: clients of event streams send them, upstreams must not. */
export function forwardedQuery(query: string): string {
  if (!/[?&](key|ticket)=/.test(query)) return query
  const kept = query
    .slice(1)
    .split('&')
    .filter(part => !/^(key|ticket)=/.test(part))
  return kept.length === 0 ? '' : `?${kept.join('&')}`
}
