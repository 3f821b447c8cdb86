import { type Json, nonEmptyText, recordOf, recordsOf, textOf } from '../../platform/json.ts'
import type { RuntimeEndpoint } from '../runtime.ts'
import { unusable } from './protocol-errors.ts'

/** How to reach an agent, by its card. */
export interface AgentAddress {
  readonly url: URL
  readonly binding: 'JSONRPC' | 'HTTP+JSON'
  /** Tenant that the card prescribes; undefined without one. */
  readonly tenant: string | undefined
  readonly isStreaming: boolean
}

interface Expected {
  readonly endpoint: Pick<RuntimeEndpoint, 'apiBase' | 'apiKey'>
  /** Reports whether `outbound.allow` lists the host of an address. */
  readonly isListed: (url: string) => boolean
}

/** Returns the address of an agent's card: `api_base` itself when it ends in `.json`. */
export function cardUrl({ apiBase }: Pick<RuntimeEndpoint, 'apiBase'>): URL {
  return new URL(apiBase.endsWith('.json') ? apiBase : `${apiBase}/.well-known/agent-card.json`)
}

/**
 * Returns the first address of a card with a binding of version 1 that is supported. Throws `RuntimeFailure` with the reason when
 * there is none. The key goes to the host of `api_base` alone.
 */
export function addressIn(card: Json, expected: Expected): AgentAddress {
  const interfaces = recordsOf(card['supportedInterfaces'])
  if (interfaces.length === 0)
    throw unusable(
      isVersion03(card)
        ? 'the agent speaks A2A 0.3, which is not supported; version 1.0 is'
        : 'api_base has no agent card of A2A 1.0',
    )
  rejectRequiredExtension(card)
  const isStreaming = recordOf(card['capabilities'])['streaming'] === true
  const problems = new Set<string>()
  for (const one of interfaces) {
    const found = addressOf(one, expected)
    if (typeof found !== 'string') return { ...found, isStreaming }
    problems.add(found)
  }
  throw unusable([...problems].slice(0, 3).join('; '))
}

const isVersion03 = ({ protocolVersion, url }: Json): boolean =>
  textOf(protocolVersion).startsWith('0.') || typeof url === 'string'

function rejectRequiredExtension(card: Json): void {
  const extensions = recordsOf(recordOf(card['capabilities'])['extensions'])
  const required = extensions.find(extension => extension['required'] === true)
  if (required)
    throw unusable(`the agent requires the extension ${textOf(required['uri']).slice(0, 200)}, which is not supported`)
}

/** Returns the address of an interface, or why it cannot be used. */
function addressOf(
  { url: given, protocolBinding, protocolVersion, tenant }: Json,
  { endpoint, isListed }: Expected,
): Omit<AgentAddress, 'isStreaming'> | string {
  const binding = textOf(protocolBinding)
  if (binding !== 'JSONRPC' && binding !== 'HTTP+JSON')
    return `the agent offers ${binding.slice(0, 50) || 'an unnamed binding'}, which is not supported; JSONRPC and HTTP+JSON are`
  const version = textOf(protocolVersion)
  if (!/^1(\.|$)/.test(version)) return `the agent speaks A2A ${version.slice(0, 20)}, which is not supported; 1.0 is`
  const url = URL.parse(textOf(given))
  if (!url) return 'the agent card has an interface without a valid url'
  const own = new URL(endpoint.apiBase)
  if (url.origin === own.origin) return { url, binding, tenant: nonEmptyText(tenant) }
  return otherHost(url, own, { endpoint, isListed }) ?? { url, binding, tenant: nonEmptyText(tenant) }
}

/** Returns why an address at another host than `api_base` is not called; undefined when it may be. */
function otherHost(url: URL, own: URL, { endpoint, isListed }: Expected): string | undefined {
  const named = `the agent card names ${url.origin.slice(0, 200)}, but api_base is at ${own.origin}`
  if (endpoint.apiKey !== undefined)
    return `${named}: a key is sent to no other host; register the harness with an address at that host, or correct the card`
  if (/^https?:$/.test(url.protocol) && isListed(url.href)) return undefined
  return `${named}; correct the card, or add that host to outbound.allow`
}
