import type { Deployment, Environment } from './config.ts'
import { defaultTimeouts, deploymentId, isUnsendable, plainBase, providers } from './providers.ts'

/** What the environment alone enables. */
export interface EnvironmentModels {
  readonly deployments: readonly Deployment[]
  /** `host:port` that the operator allowed by naming it. */
  readonly implicitAllow: readonly string[]
}

interface Options {
  readonly env: Environment
  readonly report: (text: string) => void
}

/** The deployments of the environment alone: each provider's key enables `provider/*`. Gaps: section 2. */
export function modelsOfEnvironment({ env, report }: Options): EnvironmentModels {
  const keyed = Object.entries(providers).flatMap(([provider, { protocol, apiBase, keyVariable }]) => {
    const apiKey = keyVariable === undefined ? undefined : env[keyVariable]?.trim()
    if (!apiKey || apiBase === undefined) return []
    if (isUnsendable(apiKey)) report(`${keyVariable} holds a character that no HTTP header can carry`)
    return wildcards(provider).map(names => wildcard({ ...names, provider, protocol, apiBase, apiKey }))
  })
  const host = env['OLLAMA_HOST']?.trim()
  const url = host ? ollamaUrl(host) : undefined
  if (host && url === undefined) report('OLLAMA_HOST must be host:port or an http:// address')
  if (url === undefined) return { deployments: keyed, implicitAllow: [] }
  const protocol = 'anthropic-messages'
  const ollama = { provider: 'ollama', protocol, apiBase: plainBase(url, protocol), apiKey: undefined } as const
  return {
    deployments: [...keyed, ...wildcards('ollama').map(names => wildcard({ ...names, ...ollama }))],
    implicitAllow: [`${url.hostname}:${url.port || (url.protocol === 'https:' ? '443' : '80')}`],
  }
}

type Given = Pick<Deployment, 'alias' | 'upstreamModel' | 'provider' | 'protocol' | 'apiBase' | 'apiKey'>

const wildcard = (given: Given): Deployment => ({
  ...given,
  id: deploymentId(given.alias, 1),
  headers: {},
  weight: 1,
  timeouts: defaultTimeouts,
})

/** `provider/*`, and for Anthropic the bare `claude-*` too, which its own clients send (our choice). */
function wildcards(provider: string): { alias: string; upstreamModel: string }[] {
  const all = [{ alias: `${provider}/*`, upstreamModel: '*' }]
  return provider === 'anthropic' ? [...all, { alias: 'claude-*', upstreamModel: 'claude-*' }] : all
}

/** Ollama's own variable may hold a listen address: `0.0.0.0` means this machine there, and the port may be absent. */
function ollamaUrl(text: string): URL | undefined {
  const url = URL.parse(/^https?:\/\//.test(text) ? text : `http://${text}`)
  if (url === null || url.username !== '' || url.hostname === '') return undefined
  if (url.hostname === '0.0.0.0' || url.hostname === '[::]') url.hostname = '127.0.0.1'
  if (url.port === '' && !/:80\b/.test(text) && url.protocol === 'http:') url.port = '11434'
  return url
}
