import { closestTo } from '../platform/closest.ts'
import type { Deployment, Protocols } from './deployments.ts'
import type { ModelParams } from './model-shape.ts'
import { isOpenAiFormat, type Protocol, protocolNames } from './protocols.ts'
import { cloudBase, type Provider, plainBase, providerOf, providers } from './providers.ts'
import type { ReportAt } from './yaml-shape.ts'

/** Provider, protocols and address of a model. */
export type ModelRoute = Pick<Deployment, 'provider' | 'upstreamModel' | 'protocols' | 'apiBase'> & {
  /** True for the default address of the provider, to which its key of the environment may be sent. */
  readonly isOwnAddress: boolean
}

interface Options {
  readonly params: Partial<ModelParams> & { readonly model: string }
  readonly reportAt: ReportAt
}

/** Returns the route of a `<provider>/<upstream id>`; undefined after it reported a problem. */
export function checkedRoute({ params, reportAt }: Options): ModelRoute | undefined {
  const { model, api_base } = params
  const slash = model.indexOf('/')
  const provider = model.slice(0, slash)
  const upstreamModel = model.slice(slash + 1)
  if (slash < 1 || upstreamModel === '') {
    reportAt('model must be "<provider>/<upstream id>", such as anthropic/claude-opus-5', 'model')
    return undefined
  }
  const known = providerOf(provider)
  const isVertexClaude = provider === 'vertex' && upstreamModel.startsWith('claude')
  const given = givenProtocols(params, reportAt)
  if (given === 'wrong') return undefined
  const protocols = given ?? (isVertexClaude ? vertexClaude : known?.protocols)
  if (protocols === undefined) {
    reportAt(`model names the unknown provider ${provider}${suggestion(provider)}`, 'model')
    return undefined
  }
  const base = api_base ?? ownBase(known, protocols) ?? regionalBase({ provider, params, reportAt })
  if (base === undefined) return undefined
  const url = checkedBase(base, reportAt)
  if (!url) return undefined
  const isOwnAddress = api_base === undefined
  return { provider, upstreamModel, protocols, apiBase: plainBase(url, protocols), isOwnAddress }
}

function suggestion(provider: string): string {
  const near = closestTo(provider, Object.keys(providers))
  return `${near === undefined ? '' : `; did you mean ${near}?`}; for another provider set protocols and api_base`
}

const vertexClaude: Protocols = ['vertex-anthropic']

/** Returns the configured protocols; undefined if there are none, `wrong` after it reported a problem. */
function givenProtocols(params: Partial<ModelParams>, reportAt: ReportAt): Protocols | 'wrong' | undefined {
  const { protocol, protocols: list } = params
  if (protocol !== undefined && list !== undefined) {
    reportAt('protocol and protocols exclude each other; remove one', 'protocol')
    return 'wrong'
  }
  if (protocol !== undefined) {
    const pinned = checkedProtocol(protocol, 'protocol', reportAt)
    return pinned ? [pinned] : 'wrong'
  }
  return list && checkedList(list, reportAt)
}

function checkedList(list: readonly (string | undefined)[], reportAt: ReportAt): Protocols | 'wrong' {
  const found = list.flatMap((name, index) =>
    // A value of a wrong type was reported while the file was parsed.
    name === undefined ? [] : (checkedProtocol(name, `protocols[${index}]`, reportAt) ?? []),
  )
  const [first, ...others] = new Set(found)
  if (list.length === 0) reportAt('protocols must name at least one protocol', 'protocols')
  return first === undefined || found.length < list.length ? 'wrong' : [first, ...others]
}

function checkedProtocol(given: string, field: string, reportAt: ReportAt): Protocol | undefined {
  const found = protocolNames.find(protocol => protocol === given)
  if (found === undefined) reportAt(`${field} must be one of ${protocolNames.join(', ')}`, field.replace(/\[.*/, ''))
  return found
}

/** Returns the default address of a provider. If it serves Messages below `/v1`, OpenAI's formats are there too. */
function ownBase(known: Provider | undefined, protocols: Protocols): string | undefined {
  const isOpenAiOnly = protocols.every(isOpenAiFormat)
  const isBelowV1 = isOpenAiOnly && known?.protocols.includes('anthropic-messages')
  return isBelowV1 && known?.apiBase ? `${known.apiBase}/v1` : known?.apiBase
}

/** Returns the address of a cloud region. The region becomes part of a host name, so it is checked strictly. */
function regionalBase({ provider, params, reportAt }: Options & { readonly provider: string }): string | undefined {
  const cloud = Object.hasOwn(cloudBase, provider) ? cloudBase[provider] : undefined
  if (!cloud) {
    reportAt(`api_base is required for ${provider}`, 'model')
    return undefined
  }
  const region = params[cloud.field] ?? cloud.fallback
  if (region === undefined) {
    // An unset variable was reported while the file was parsed.
    if (!(cloud.field in params)) reportAt(`${cloud.field} or api_base is required for ${provider}`, 'model')
    return undefined
  }
  if (/^[a-z0-9]+(-[a-z0-9]+)*$/.test(region)) return cloud.base(region)
  reportAt(`${cloud.field} must be the name of a region, such as ${cloud.example}`, cloud.field)
  return undefined
}

function checkedBase(text: string, reportAt: ReportAt): URL | undefined {
  const url = /[\\\s]/.test(text) ? null : URL.parse(text)
  if (url === null || !/^https?:$/.test(url.protocol)) {
    reportAt('api_base must be an https:// or http:// address', 'api_base')
    return undefined
  }
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    reportAt('api_base must not have a user name, query or fragment', 'api_base')
    return undefined
  }
  return url
}
