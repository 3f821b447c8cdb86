import type { Protocol, Protocols, UpstreamTimeouts } from './config.ts'

/** What is known of a provider by its name alone. */
export interface Provider {
  /** As people call it. */
  readonly name: string
  /** The default first. */
  readonly protocols: Protocols
  /** Undefined: the operator must name the address. */
  readonly apiBase?: string
  /** The variable with its key. Without a model list it enables `provider/*` by itself. */
  readonly keyVariable?: string
  /** True: its servers may well want no key. */
  readonly keyless?: true
}

/** Of servers that serve both below one address. */
export const messagesAndChat: Protocols = ['anthropic-messages', 'openai-chat']

/**
 * The known providers, with the protocols that all of their models can be called in. Google's Chat Completions is left
 * out (our choice: it refuses a tool's result when the client did not keep Google's signature), but can be configured.
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

/** What is known of `provider`; undefined for a name that only an operator knows. */
export const providerOf = (provider: string): Provider | undefined =>
  Object.hasOwn(providers, provider) ? providers[provider] : undefined

/**
 * The names that a provider's credential enables: `provider/*`, for Anthropic the bare `claude-*` too, which its own
 * clients send (our choice), and for Vertex AI its Claude models, which speak another protocol than the others there.
 */
export function wildcardsOf(provider: string): { alias: string; upstreamModel: string }[] {
  const all = { alias: `${provider}/*`, upstreamModel: '*' }
  if (provider === 'anthropic') return [all, { alias: 'claude-*', upstreamModel: 'claude-*' }]
  return provider === 'vertex' ? [all, { alias: 'vertex/claude-*', upstreamModel: 'claude-*' }] : [all]
}

interface Cloud {
  /** The parameter that names the region. */
  readonly field: 'aws_region_name' | 'vertex_location'
  readonly fallback?: string
  readonly example: string
  readonly base: (region: string) => string
}

/** Providers whose address follows from a region. */
export const cloudBase: Readonly<Record<string, Cloud>> = {
  bedrock: {
    field: 'aws_region_name',
    example: 'eu-central-1',
    base: region => `https://bedrock-runtime.${region}.amazonaws.com`,
  },
  vertex: { field: 'vertex_location', fallback: 'global', example: 'europe-west4', base: vertexBase },
}

/** Google's three kinds of location have an address of their own each. */
function vertexBase(location: string): string {
  if (location === 'global') return 'https://aiplatform.googleapis.com'
  if (location === 'us' || location === 'eu') return `https://aiplatform.${location}.rep.googleapis.com`
  return `https://${location}-aiplatform.googleapis.com`
}

/** The protocols that a configuration file may name. */
export const protocolNames: readonly Protocol[] = [
  'anthropic-messages',
  'openai-chat',
  'openai-responses',
  'gemini',
  'bedrock-converse',
  'bedrock-invoke',
  'vertex-anthropic',
]

export const defaultTimeouts: UpstreamTimeouts = {
  connectMs: 5_000,
  firstByteMs: 60_000,
  idleMs: 60_000,
  totalMs: 600_000,
}

/**
 * A base address in its one spelling: no slash at the end, and no `/v1` where Messages is served, whose paths bring it
 * along. `basePathOf` knows where the other protocols are served below it.
 */
export function plainBase(url: URL, protocols: Protocols): string {
  const path = url.pathname.replace(/\/+$/, '')
  return `${url.origin}${protocols.includes('anthropic-messages') ? path.replace(/\/v1$/, '') : path}`
}

/** A deployment's public id: its alias in characters that any header can carry, and its place among those of that alias. */
export const deploymentId = (alias: string, number: number): string =>
  `${alias.replaceAll(/[^\w./*-]/g, '-')}.${number}`

/** True for text that no HTTP header can carry, or that would be another header. */
export const isUnsendable = (value: string): boolean => value === '' || /[^\t\x20-\x7e]/.test(value)
