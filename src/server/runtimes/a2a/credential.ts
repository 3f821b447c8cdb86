import { basicAuthorization } from '../../platform/authorization.ts'
import { type Json, recordOf, recordsOf, textOf } from '../../platform/json.ts'
import type { RuntimeEndpoint } from '../runtime.ts'
import { unusable } from './protocol-errors.ts'

type Headers = Readonly<Record<string, string>>

const bearer = (apiKey: string): Headers => ({ authorization: `Bearer ${apiKey}` })

/**
 * Returns the headers that carry the key in the way that the card of an agent requires. Throws `RuntimeFailure` when the agent needs
 * a key and there is none, or needs one in a way that is not supported.
 */
export function credentialHeaders(card: Json, { apiKey }: Pick<RuntimeEndpoint, 'apiKey'>): Headers {
  const schemes = recordOf(card['securitySchemes'])
  const required = recordsOf(card['securityRequirements']).map(one => Object.keys(recordOf(one['schemes'])))
  if (apiKey === undefined) {
    if (required.length === 0 || required.some(names => names.length === 0)) return {}
    throw unusable(`the agent requires a credential (${required.flat().join(', ').slice(0, 200)}); set api_key`)
  }
  // A requirement of several schemes at once needs several credentials.
  const single = required.flatMap(names => (names.length === 1 ? names : []))
  const candidates = required.length === 0 ? Object.keys(schemes) : single
  if (required.length === 0 && candidates.length === 0) return bearer(apiKey)
  for (const name of candidates) {
    const headers = headersOf(recordOf(schemes[name]), apiKey)
    if (headers) return headers
  }
  throw unusable(
    'the agent accepts no credential that is supported: a key in a header, HTTP bearer, HTTP basic (api_key is user:password), or an OAuth access token',
  )
}

/** Returns undefined for a scheme that is not supported. */
function headersOf(scheme: Json, apiKey: string): Headers | undefined {
  const { httpAuthSecurityScheme: http, apiKeySecurityScheme: key } = scheme
  if (http !== undefined) return httpHeaders(textOf(recordOf(http)['scheme']).toLowerCase(), apiKey)
  if (key !== undefined) return keyHeader(recordOf(key), apiKey)
  const isToken = ['oauth2SecurityScheme', 'openIdConnectSecurityScheme'].some(name => scheme[name] !== undefined)
  return isToken ? bearer(apiKey) : undefined
}

function httpHeaders(scheme: string, apiKey: string): Headers | undefined {
  if (scheme === 'bearer') return bearer(apiKey)
  if (scheme !== 'basic' || !apiKey.includes(':')) return undefined
  return { authorization: basicAuthorization(apiKey) }
}

/** Headers of the request itself, which a card must not replace. */
const ownHeaders: ReadonlySet<string> = new Set([
  'a2a-version',
  'accept',
  'connection',
  'content-length',
  'content-type',
  'cookie',
  'expect',
  'host',
  'keep-alive',
  'proxy-authorization',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

function keyHeader({ location, name }: Json, apiKey: string): Headers | undefined {
  const header = textOf(name).toLowerCase()
  const isUsable = textOf(location).toLowerCase() === 'header' && /^[\w!#$%&'*+.^`|~-]{1,100}$/.test(header)
  return isUsable && !ownHeaders.has(header) ? { [header]: apiKey } : undefined
}
