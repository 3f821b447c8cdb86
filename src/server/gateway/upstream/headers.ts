import { apiVersion } from '../../../contract/api.ts'
import type { Call } from '../core/call.ts'

type Headers = Readonly<Record<string, string | string[] | undefined>>

const forwardedToAnthropic = /^(anthropic-|x-claude-code-)/

/** Headers of OpenAI's that say whose account a call is for are credentials: the account is the deployment's. */
const forwardedToOpenAi = /^openai-(?!organization$|project$)/

/** Of every request of ours, whatever its format. */
export const ownHeaders = {
  'content-type': 'application/json',
  'accept-encoding': 'identity',
  'user-agent': `switchyard/${apiVersion}`,
} as const

/** Headers toward an upstream of Anthropic's format, but for the credential. The caller's own never goes along. */
export const anthropicHeaders = (call: Pick<Call, 'headers'>): Record<string, string> =>
  withForwarded({ ...ownHeaders, 'anthropic-version': '2023-06-01' }, call.headers, forwardedToAnthropic)

/** Headers toward an upstream of OpenAI's formats, but for the credential. The caller's own never goes along. */
export const openAiHeaders = (call: Pick<Call, 'headers'>): Record<string, string> =>
  withForwarded({ ...ownHeaders }, call.headers, forwardedToOpenAi)

const forwardedToBedrock = /^x-amzn-bedrock-/

/** Headers toward Bedrock in its own formats: guardrails, traces and tiers stand in some of the client's. */
export const bedrockHeaders = (call: Pick<Call, 'headers'>): Record<string, string> =>
  withForwarded({ ...ownHeaders }, call.headers, forwardedToBedrock)

/** The request's headers that some upstream gets. */
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
  /^(content-type|retry-after|retry-after-ms|(x-)?request-id|anthropic-ratelimit-.*|x-ratelimit-.*|openai-(processing-ms|version))$/

/** What an id of an upstream looks like; anything else under its name is text. */
const plainId = /^[\w.:=+/-]{1,200}$/

/** What a file or a part of one is described by, besides its type. */
export const answeredWithFiles = /^(content-(disposition|language)|etag|last-modified|x-generation-id)$/

/**
 * What the clients of a provider's own API read of its answers. Left out are cookies, accounts, what belongs to the connection,
 * and what caches go by: to them an answer is this caller's alone.
 */
export const answeredNatively =
  /^(accept-ranges|allow|content-(disposition|language|length|location|range)|etag|last-modified|location|x-amzn-(bedrock-.*|errortype|requestid)|x-goog-(hash|upload-(status|size-received|chunk-granularity)))$/

interface Relay {
  readonly holdsSecret: (value: string) => boolean
  /** Names besides those of every answer. */
  readonly more: RegExp | undefined
}

/** The upstream's headers that reach the client; all others are dropped, and those that hold a secret. Security S54. */
export function relayedHeaders(headers: Headers, { holdsSecret, more }: Relay): Record<string, string> {
  const relayed: Record<string, string> = {}
  for (const name in headers) {
    if (name !== 'content-type' && !answered.test(name) && !more?.test(name)) continue
    const value = headers[name]
    const first = Array.isArray(value) ? value[0] : value
    if (first === undefined || holdsSecret(first)) continue
    if (!name.endsWith('request-id') || plainId.test(first)) relayed[name] = first
  }
  // OpenAI's name of the same thing.
  const id = relayed['x-request-id']
  if (id !== undefined) relayed['request-id'] ??= id
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

/** What clients say of their bodies, of what they have, of versions and of features: no credential, no cookie, nothing of the connection. */
const forwardedNative =
  /^(accept|content-(disposition|encoding|language|md5|range|type)|idempotency-key|if-(match|none-match|modified-since|unmodified-since|range)|range|anthropic-.*|openai-(?!organization$|project$).*|x-goog-upload-.*|x-amzn-bedrock-.*)$/

/** Headers of a request to a provider's own API, but for the credential. */
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
