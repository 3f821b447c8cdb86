import type { Deployment, Protocol } from '../../config/config.ts'
import type { Target } from '../core/call.ts'

/** True for OpenAI's formats, whose paths stand right behind a base address that ends in `/v1`. */
export const isOpenAi = (protocol: Protocol): boolean => protocol === 'openai-chat' || protocol === 'openai-responses'

/**
 * What stands between a deployment's base address and the paths of a protocol. The base address is that of Messages where
 * the deployment serves it, and Google's own for Gemini.
 */
export function basePathOf({ deployment, protocol }: Pick<Target, 'deployment' | 'protocol'>): string {
  const { provider, protocols, apiBase } = deployment
  if (!isOpenAi(protocol)) return ''
  if (provider === 'gemini')
    return apiBase.endsWith('/openai') ? '' : `${/\/v\d[a-z\d]*$/.test(apiBase) ? '' : '/v1beta'}/openai`
  return protocols.includes('anthropic-messages') ? '/v1' : ''
}

interface Where {
  readonly deployment: Pick<Deployment, 'apiBase' | 'google'>
  /** The model's name there. */
  readonly upstreamModel: string
}

/** The model's name as the Gemini API has it. */
export const geminiResource = (model: string): string =>
  /^(models|tunedModels)\//.test(model) ? model : `models/${model}`

const escaped = (resource: string): string => resource.split('/').map(encodeURIComponent).join('/')

/** Where `method` of a model stands behind the deployment's base address. */
export function geminiPath({ deployment, upstreamModel }: Where, method: string): string {
  const { google } = deployment
  const version = /\/v\d[a-z\d]*\/?$/.test(deployment.apiBase) ? '' : google ? '/v1' : '/v1beta'
  if (!google) return `${version}/${escaped(geminiResource(upstreamModel))}:${method}`
  const model = upstreamModel.replace(/^models\//, '')
  const resource = /^(publishers|endpoints)\//.test(model) ? model : `publishers/google/models/${model}`
  return `${version}/${escaped(`projects/${google.project}/locations/${google.location}/${resource}`)}:${method}`
}

/**
 * A path of a provider's own API as it stands behind the deployment's base address. The version that ends the address
 * is left out of the path.
 */
export function nativePath(target: Pick<Target, 'deployment' | 'protocol'>, path: string): string {
  const base = `${new URL(target.deployment.apiBase).pathname}${basePathOf(target)}`
  const [version] = /\/v\d\w*$/.exec(base) ?? []
  return version !== undefined && path.startsWith(`${version}/`) ? path.slice(version.length) : path
}

/**
 * An address that a provider's own API names, as its clients here reach it: below `prefix` where it stands behind the
 * deployment's base address, else as it is.
 */
export function nativeLocation(
  target: Pick<Target, 'deployment' | 'protocol'>,
  location: string,
  prefix: string,
): string {
  if (!/^(\/|https?:)/i.test(location)) return location
  const base = new URL(`${target.deployment.apiBase}${basePathOf(target)}`)
  const named = URL.parse(location, base.href)
  const above = base.pathname.replace(/(\/v\d\w*)?\/?$/, '')
  if (named?.origin !== base.origin || !named.pathname.startsWith(`${above}/`)) return location
  return `${prefix}${named.pathname.slice(above.length)}${named.search}`
}

/** True when no reading of a path of a client, however often it is decoded, leaves the address that it is put behind. */
export function staysBelow(path: string, isSlashEncodable: boolean): boolean {
  if (!path.startsWith('/') || (!isSlashEncodable && /%(25)*2f/i.test(path))) return false
  let decoded = path
  // Deeper than any server decodes.
  for (let depth = 0; depth < 5 && decoded.includes('%'); depth++) {
    const next = decoded.replaceAll(/%[\da-f]{2}/gi, code => String.fromCharCode(Number.parseInt(code.slice(1), 16)))
    if (next === decoded) break
    decoded = next
  }
  const parts = decoded.slice(1).split('/')
  return (
    !/[\\#?]/.test(decoded) &&
    [...decoded].every(character => character >= ' ') &&
    !/%(25)*(2f|5c|2e)/i.test(decoded) &&
    parts.every((part, at) => !/^\.{1,2}(;|$)/.test(part) && (part !== '' || at === parts.length - 1))
  )
}
