import { closestTo } from '../platform/closest.ts'
import type { Deployment, Protocol } from './config.ts'
import type { ModelParams, Say } from './file.ts'
import { cloudBase, plainBase, protocols, providerOf, providers } from './providers.ts'

/** Where a model is served, and in which format. */
export type ModelRoute = Pick<Deployment, 'provider' | 'upstreamModel' | 'protocol' | 'apiBase'> & {
  /** True: the provider's own address, to which its key of the environment may go; false for one that was named. */
  readonly isOwnAddress: boolean
}

interface Options {
  readonly params: Partial<ModelParams> & { readonly model: string }
  readonly say: Say
}

/** Provider, protocol and address of a `<provider>/<upstream id>`; undefined once a fault of them was reported. */
export function checkedRoute({ params, say }: Options): ModelRoute | undefined {
  const { model, protocol, api_base } = params
  const slash = model.indexOf('/')
  const provider = model.slice(0, slash)
  const upstreamModel = model.slice(slash + 1)
  if (slash < 1 || upstreamModel === '') {
    say('model must be "<provider>/<upstream id>", such as anthropic/claude-opus-5', 'model')
    return undefined
  }
  const known = providerOf(provider)
  const isVertexClaude = provider === 'vertex' && upstreamModel.startsWith('claude')
  const spoken = checkedProtocol(protocol, isVertexClaude ? 'vertex-anthropic' : known?.protocol, say)
  if (spoken === undefined) {
    if (protocol === undefined) say(`model names the unknown provider ${provider}${meant(provider)}`, 'model')
    return undefined
  }
  const base = api_base ?? known?.apiBase ?? regionalBase({ provider, params, say })
  if (base === undefined) return undefined
  const url = checkedBase(base, say)
  if (!url) return undefined
  const isOwnAddress = api_base === undefined
  return { provider, upstreamModel, protocol: spoken, apiBase: plainBase(url, spoken), isOwnAddress }
}

function meant(provider: string): string {
  const near = closestTo(provider, Object.keys(providers))
  return `${near === undefined ? '' : `; did you mean ${near}?`}; for another one give protocol and api_base`
}

function checkedProtocol(given: string | undefined, fallback: Protocol | undefined, say: Say): Protocol | undefined {
  if (given === undefined) return fallback
  const found = protocols.find(protocol => protocol === given)
  if (found === undefined) say(`protocol must be one of ${protocols.join(', ')}`, 'protocol')
  return found
}

/** The address of a cloud's region. The name of a region becomes a part of a host: nothing else may be in it. */
function regionalBase({ provider, params, say }: Options & { readonly provider: string }): string | undefined {
  const cloud = Object.hasOwn(cloudBase, provider) ? cloudBase[provider] : undefined
  if (!cloud) {
    say(`api_base is required for ${provider}`, 'model')
    return undefined
  }
  const region = params[cloud.field] ?? cloud.fallback
  if (region === undefined) {
    // What is there but refers to nothing has been reported by the reader of the file.
    if (!(cloud.field in params)) say(`${cloud.field} or api_base is required for ${provider}`, 'model')
    return undefined
  }
  if (/^[a-z0-9]+(-[a-z0-9]+)*$/.test(region)) return cloud.base(region)
  say(`${cloud.field} must be the name of a region, such as ${cloud.example}`, cloud.field)
  return undefined
}

function checkedBase(text: string, say: Say): URL | undefined {
  const url = /[\\\s]/.test(text) ? null : URL.parse(text)
  if (url === null || !/^https?:$/.test(url.protocol)) {
    say('api_base must be an https:// or http:// address', 'api_base')
    return undefined
  }
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    say('api_base must hold no user name, query or fragment', 'api_base')
    return undefined
  }
  return url
}
