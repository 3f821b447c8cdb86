import { apiVersion } from '../../../contract/api.ts'
import type { TraceHeaders } from '../../platform/trace-context.ts'
import type { Call } from '../core/call.ts'

type Headers = Readonly<Record<string, string | string[] | undefined>>

const forwardedToAnthropic = /^(anthropic-|x-claude-code-)/

/** Excludes the headers that select an account: like a credential, the account is the deployment's. */
const forwardedToOpenAi = /^openai-(?!organization$|project$)/

/** What a call passes on in headers. */
type Forwarding = Pick<Call, 'headers' | 'trace'>

/** Trace context for the upstream, where that is configured. */
export const traceOf = ({ trace }: Forwarding): Partial<TraceHeaders> => trace ?? {}

/** Headers of every request to an upstream. */
export const ownHeaders = {
  'content-type': 'application/json',
  'accept-encoding': 'identity',
  'user-agent': `switchyard/${apiVersion}`,
} as const

/**
 * Headers for an upstream with Anthropic's format, without the credential. The caller's credential is never forwarded.
 */
export const anthropicHeaders = (call: Forwarding): Record<string, string> =>
  withForwarded(
    { ...ownHeaders, 'anthropic-version': '2023-06-01', ...traceOf(call) },
    call.headers,
    forwardedToAnthropic,
  )

/**
 * Headers for an upstream with OpenAI's formats, without the credential. The caller's credential is never forwarded.
 */
export const openAiHeaders = (call: Forwarding): Record<string, string> =>
  withForwarded({ ...ownHeaders, ...traceOf(call) }, call.headers, forwardedToOpenAi)

const forwardedToBedrock = /^x-amzn-bedrock-/

/** Headers for Bedrock's own formats: clients select guardrails, traces and tiers in headers. */
export const bedrockHeaders = (call: Forwarding): Record<string, string> =>
  withForwarded({ ...ownHeaders, ...traceOf(call) }, call.headers, forwardedToBedrock)

/** Request headers that are forwarded to an upstream of any format. */
export const forwardedHeaders = ({ headers }: Pick<Call, 'headers'>): Record<string, string> =>
  withForwarded(withForwarded({}, headers, forwardedToAnthropic), headers, forwardedToOpenAi)

function withForwarded(headers: Record<string, string>, given: Headers, pattern: RegExp): Record<string, string> {
  for (const name in given) {
    const value = given[name]
    if (value !== undefined && pattern.test(name)) headers[name] = Array.isArray(value) ? value.join(', ') : value
  }
  return headers
}

const answered =
  /^(content-type|retry-after|retry-after-ms|x-should-retry|(x-)?request-id|anthropic-ratelimit-.*|x-ratelimit-.*|openai-(processing-ms|version))$/

/** Shape of an upstream's request id; a header with any other value is dropped. */
const plainId = /^[\w.:=+/-]{1,200}$/

/** Response headers that describe a file or a part of one, besides the content type. */
export const fileResponseHeaders = /^(content-(disposition|language)|etag|last-modified|x-generation-id)$/

/**
 * Response headers that clients of a provider's own API read. Cookies, accounts, connection headers and cache headers
 * are excluded: a response is private to its caller.
 */
export const nativeResponseHeaders =
  /^(accept-ranges|allow|content-(disposition|language|length|location|range)|etag|last-modified|location|x-amzn-(bedrock-.*|errortype|requestid)|x-goog-(hash|upload-(status|size-received|chunk-granularity)))$/

interface Relay {
  readonly containsSecret: (value: string) => boolean
  /** Header names besides those of every response. */
  readonly more: RegExp | undefined
}

/**
 * Returns the upstream headers that are relayed to the client. Others, and those that hold a secret, are dropped.
 * Source: Security, S54.
 */
export function relayedHeaders(headers: Headers, { containsSecret, more }: Relay): Record<string, string> {
  const relayed: Record<string, string> = {}
  for (const name in headers) {
    if (name !== 'content-type' && !answered.test(name) && !more?.test(name)) continue
    const value = headers[name]
    const first = Array.isArray(value) ? value[0] : value
    if (first === undefined || containsSecret(first)) continue
    if (!name.endsWith('request-id') || plainId.test(first)) relayed[name] = first
  }
  // OpenAI's name for the same id.
  const id = relayed['x-request-id']
  if (id !== undefined) relayed['request-id'] ??= id
  return relayed
}

/** Extra headers of a stream that keep proxies from buffering it. */
export const streamHeaders = { 'cache-control': 'no-cache', 'x-accel-buffering': 'no' } as const

/**
 * Returns the query without parameters that may hold a Switchyard key, in any spelling of their names: clients of event
 * streams and of Gemini send their key there. The other parameters keep their bytes.
 */
export function forwardedQuery(query: string): string {
  if (!/key|ticket|%/i.test(query)) return query
  const parts = query.slice(1).split('&')
  const kept = parts.filter(part => ![...new URLSearchParams(part).keys()].some(name => /^(key|ticket)$/i.test(name)))
  if (kept.length === parts.length) return query
  return kept.length === 0 ? '' : `?${kept.join('&')}`
}

/** Request headers about bodies, conditions, versions and features; no credentials, cookies or connection headers. */
const forwardedNative =
  /^(accept|content-(disposition|encoding|language|md5|range|type)|idempotency-key|if-(match|none-match|modified-since|unmodified-since|range)|range|anthropic-.*|openai-(?!organization$|project$).*|x-goog-upload-.*|x-amzn-bedrock-.*)$/

/** Headers of a request to a provider's own API, without the credential. */
export function nativeHeaders({ headers }: Pick<Call, 'headers'>): Record<string, string> {
  const { 'accept-encoding': encoding, 'user-agent': agent } = ownHeaders
  const length = headers['content-length']
  return withForwarded(
    {
      'accept-encoding': encoding,
      'user-agent': agent,
      ...(typeof length === 'string' && { 'content-length': length }),
    },
    headers,
    forwardedNative,
  )
}
