import { closestTo } from '../platform/closest.ts'
import type { Deployment, Protocol, Protocols } from './config.ts'
import type { ModelParams } from './model-shape.ts'
import { cloudBase, type Provider, plainBase, protocolNames, providerOf, providers } from './providers.ts'
import type { Say } from './yaml-shape.ts'

/** Where a model is served, and in which format. */
export type ModelRoute = Pick<Deployment, 'provider' | 'upstreamModel' | 'protocols' | 'apiBase'> & {
  /** True: the provider's own address, to which its key of the environment may go; false for one that was named. */
  readonly isOwnAddress: boolean
}

interface Options {
  readonly params: Partial<ModelParams> & { readonly model: string }
  readonly say: Say
}

/** Provider, protocols and address of a `<provider>/<upstream id>`; undefined once a fault of them was reported. */
export function checkedRoute({ params, say }: Options): ModelRoute | undefined {
  const { model, api_base } = params
  const slash = model.indexOf('/')
  const provider = model.slice(0, slash)
  const upstreamModel = model.slice(slash + 1)
  if (slash < 1 || upstreamModel === '') {
    say('model must be "<provider>/<upstream id>", such as anthropic/claude-opus-5', 'model')
    return undefined
  }
  const known = providerOf(provider)
  const isVertexClaude = provider === 'vertex' && upstreamModel.startsWith('claude')
  const given = givenProtocols(params, say)
  if (given === 'wrong') return undefined
  const protocols = given ?? (isVertexClaude ? vertexClaude : known?.protocols)
  if (protocols === undefined) {
    say(`model names the unknown provider ${provider}${meant(provider)}`, 'model')
    return undefined
  }
  const base = api_base ?? ownBase(known, protocols) ?? regionalBase({ provider, params, say })
  if (base === undefined) return undefined
  const url = checkedBase(base, say)
  if (!url) return undefined
  const isOwnAddress = api_base === undefined
  return { provider, upstreamModel, protocols, apiBase: plainBase(url, protocols), isOwnAddress }
}

function meant(provider: string): string {
  const near = closestTo(provider, Object.keys(providers))
  return `${near === undefined ? '' : `; did you mean ${near}?`}; for another one give protocols and api_base`
}

const vertexClaude: Protocols = ['vertex-anthropic']

/** What `protocol` or `protocols` says; undefined when neither is there, `wrong` once a fault of them was reported. */
function givenProtocols(params: Partial<ModelParams>, say: Say): Protocols | 'wrong' | undefined {
  const { protocol, protocols: list } = params
  if (protocol !== undefined && list !== undefined) {
    say('protocol and protocols exclude each other; keep one', 'protocol')
    return 'wrong'
  }
  if (protocol !== undefined) {
    const pinned = checkedProtocol(protocol, 'protocol', say)
    return pinned ? [pinned] : 'wrong'
  }
  return list && checkedList(list, say)
}

function checkedList(list: readonly (string | undefined)[], say: Say): Protocols | 'wrong' {
  const found = list.flatMap((name, index) =>
    // What is no text has been reported by the reader of the file.
    name === undefined ? [] : (checkedProtocol(name, `protocols[${index}]`, say) ?? []),
  )
  const [first, ...others] = new Set(found)
  if (list.length === 0) say('protocols must name at least one protocol', 'protocols')
  return first === undefined || found.length < list.length ? 'wrong' : [first, ...others]
}

function checkedProtocol(given: string, field: string, say: Say): Protocol | undefined {
  const found = protocolNames.find(protocol => protocol === given)
  if (found === undefined) say(`${field} must be one of ${protocolNames.join(', ')}`, field.replace(/\[.*/, ''))
  return found
}

/** A provider's own address. One that brings Messages below `/v1` has OpenAI's formats there too. */
function ownBase(known: Provider | undefined, protocols: Protocols): string | undefined {
  const isOpenAiOnly = protocols.every(name => name.startsWith('openai-'))
  const isBelowV1 = isOpenAiOnly && known?.protocols.includes('anthropic-messages')
  return isBelowV1 && known?.apiBase ? `${known.apiBase}/v1` : known?.apiBase
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
