import type { Environment } from './config.ts'
import type { Deployment } from './deployments.ts'
import {
  defaultTimeouts,
  deploymentId,
  isUnsendable,
  messagesAndChat,
  plainBase,
  providers,
  wildcardsOf,
} from './providers.ts'

/** Deployments that the environment enables. */
export interface EnvironmentModels {
  readonly deployments: readonly Deployment[]
  /** `host:port` of addresses that the operator allowed by configuring them. */
  readonly implicitAllow: readonly string[]
}

interface Options {
  readonly env: Environment
  readonly report: (text: string) => void
}

/** Returns the provider keys of the environment. Each must be sent only to the default address of its provider. */
export function keysOfEnvironment(env: Environment): Record<string, string> {
  const keys = Object.entries(providers).flatMap(([provider, { keyVariable }]) => {
    const key = keyVariable === undefined ? undefined : env[keyVariable]?.trim()
    return key ? [[provider, key]] : []
  })
  return Object.fromEntries(keys)
}

/** Returns the deployments of the environment: each provider key enables `provider/*`. Gaps: section 2. */
export function modelsOfEnvironment({ env, report }: Options): EnvironmentModels {
  const keys = keysOfEnvironment(env)
  const keyed = Object.entries(providers).flatMap(([provider, { protocols, apiBase, keyVariable }]) => {
    const apiKey = keys[provider]
    if (apiKey === undefined || apiBase === undefined) return []
    if (isUnsendable(apiKey)) report(`${keyVariable} contains a character that is not allowed in an HTTP header`)
    return wildcardsOf(provider).map(names => wildcard({ ...names, provider, protocols, apiBase, apiKey }))
  })
  const host = env['OLLAMA_HOST']?.trim()
  const url = host ? ollamaUrl(host) : undefined
  if (host && url === undefined) report('OLLAMA_HOST must be host:port or an http:// address')
  if (url === undefined) return { deployments: keyed, implicitAllow: [] }
  const protocols = messagesAndChat
  const ollama = { provider: 'ollama', protocols, apiBase: plainBase(url, protocols), apiKey: undefined }
  return {
    deployments: [...keyed, ...wildcardsOf('ollama').map(names => wildcard({ ...names, ...ollama }))],
    implicitAllow: [`${url.hostname}:${url.port || (url.protocol === 'https:' ? '443' : '80')}`],
  }
}

type Given = Pick<Deployment, 'alias' | 'upstreamModel' | 'provider' | 'protocols' | 'apiBase' | 'apiKey'>

const wildcard = (given: Given): Deployment => ({
  ...given,
  id: deploymentId(given.alias, 1),
  headers: {},
  weight: 1,
  timeouts: defaultTimeouts,
})

/** OLLAMA_HOST may be a listen address: `0.0.0.0` then means this machine, and the port is optional. */
function ollamaUrl(text: string): URL | undefined {
  const url = URL.parse(/^https?:\/\//.test(text) ? text : `http://${text}`)
  if (url === null || url.username !== '' || url.hostname === '') return undefined
  if (url.hostname === '0.0.0.0' || url.hostname === '[::]') url.hostname = '127.0.0.1'
  if (url.port === '' && !/:80\b/.test(text) && url.protocol === 'http:') url.port = '11434'
  return url
}
