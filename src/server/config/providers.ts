import { withoutTrailing } from '../platform/trailing.ts'
import type { Protocols, UpstreamTimeouts } from './deployments.ts'

/** Built-in data of a provider. */
export interface Provider {
  /** Display name. */
  readonly name: string
  /** The first is the default. */
  readonly protocols: Protocols
  /** Undefined if the operator must configure the address. */
  readonly apiBase?: string
  /** Environment variable of its key. Without a model list the key enables `provider/*`. */
  readonly keyVariable?: string
  /** True if its servers may not require a key. */
  readonly keyless?: true
}

/** Protocols of servers that serve both below one address. */
export const messagesAndChat: Protocols = ['anthropic-messages', 'openai-chat']

/**
 * Known providers, with the protocols that all of their models support. Google's Chat Completions is not listed (our
 * choice: it rejects tool results if the client dropped Google's signature), but can be configured.
 */
export const providers: Readonly<Record<string, Provider>> = {
  anthropic: {
    name: 'Anthropic',
    protocols: ['anthropic-messages'],
    apiBase: 'https://api.anthropic.com',
    keyVariable: 'ANTHROPIC_API_KEY',
  },
  openai: {
    name: 'OpenAI',
    protocols: ['openai-responses', 'openai-chat'],
    apiBase: 'https://api.openai.com/v1',
    keyVariable: 'OPENAI_API_KEY',
  },
  'openai-compatible': { name: 'OpenAI-compatible server', protocols: ['openai-chat'], keyless: true },
  azure: { name: 'Azure OpenAI', protocols: ['openai-responses', 'openai-chat'] },
  gemini: {
    name: 'Google Gemini',
    protocols: ['gemini'],
    apiBase: 'https://generativelanguage.googleapis.com',
    keyVariable: 'GEMINI_API_KEY',
  },
  vertex: { name: 'Google Vertex AI', protocols: ['gemini'] },
  bedrock: { name: 'Amazon Bedrock', protocols: ['bedrock-converse'] },
  openrouter: {
    name: 'OpenRouter',
    protocols: messagesAndChat,
    apiBase: 'https://openrouter.ai/api',
    keyVariable: 'OPENROUTER_API_KEY',
  },
  ollama: {
    name: 'Ollama',
    protocols: messagesAndChat,
    apiBase: 'http://127.0.0.1:11434',
    keyless: true,
  },
}

/** Returns the built-in data of a provider; undefined for custom providers. */
export const providerOf = (provider: string): Provider | undefined =>
  Object.hasOwn(providers, provider) ? providers[provider] : undefined

/**
 * Returns the model names that the credential of a provider enables: `provider/*`; for Anthropic also `claude-*`, which
 * its own clients send (our choice); for Vertex AI also its Claude models, which use a different protocol.
 */
export function wildcardsOf(provider: string): { alias: string; upstreamModel: string }[] {
  const all = { alias: `${provider}/*`, upstreamModel: '*' }
  if (provider === 'anthropic') return [all, { alias: 'claude-*', upstreamModel: 'claude-*' }]
  return provider === 'vertex' ? [all, { alias: 'vertex/claude-*', upstreamModel: 'claude-*' }] : [all]
}

interface Cloud {
  /** Parameter with the region. */
  readonly field: 'aws_region_name' | 'vertex_location'
  readonly fallback?: string
  readonly example: string
  readonly base: (region: string) => string
}

/** Providers whose address is derived from a region. */
export const cloudBase: Readonly<Record<string, Cloud>> = {
  bedrock: {
    field: 'aws_region_name',
    example: 'eu-central-1',
    base: region => `https://bedrock-runtime.${region}.amazonaws.com`,
  },
  vertex: { field: 'vertex_location', fallback: 'global', example: 'europe-west4', base: vertexBase },
}

/** Google has different addresses for global, multi-region and regional locations. */
function vertexBase(location: string): string {
  if (location === 'global') return 'https://aiplatform.googleapis.com'
  if (location === 'us' || location === 'eu') return `https://aiplatform.${location}.rep.googleapis.com`
  return `https://${location}-aiplatform.googleapis.com`
}

export const defaultTimeouts: UpstreamTimeouts = {
  connectMs: 5_000,
  firstByteMs: 60_000,
  idleMs: 60_000,
  totalMs: 600_000,
}

/**
 * Returns a normalised base address: without a trailing slash, and without `/v1` if Messages is served, whose paths
 * include it. `basePathOf` adds the path of the other protocols.
 */
export function plainBase(url: URL, protocols: Protocols): string {
  const path = withoutTrailing(url.pathname, '/')
  return `${url.origin}${protocols.includes('anthropic-messages') ? path.replace(/\/v1$/, '') : path}`
}

/** Returns the public id of a deployment: its alias in header-safe characters, and its number within the alias. */
export const deploymentId = (alias: string, number: number): string =>
  `${alias.replaceAll(/[^\w./*-]/g, '-')}.${number}`

/** True for text that is not a valid HTTP header value. */
export const isUnsendable = (value: string): boolean => value === '' || /[^\t\x20-\x7e]/.test(value)
