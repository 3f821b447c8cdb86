import type { Deployment } from '../../config/deployments.ts'
import { isOpenAiFormat } from '../../config/protocols.ts'
import type { Target } from '../core/call.ts'

/**
 * Returns the path between a deployment's base address and the paths of a protocol. The base address is that of
 * Messages where the deployment serves it, and Google's own for Gemini.
 */
export function basePathOf({ deployment, protocol }: Pick<Target, 'deployment' | 'protocol'>): string {
  const { provider, protocols, apiBase } = deployment
  if (!isOpenAiFormat(protocol)) return ''
  if (provider === 'gemini')
    return apiBase.endsWith('/openai') ? '' : `${/\/v\d[a-z\d]*$/.test(apiBase) ? '' : '/v1beta'}/openai`
  return protocols.includes('anthropic-messages') ? '/v1' : ''
}

interface Where {
  readonly deployment: Pick<Deployment, 'apiBase' | 'google'>
  /** Name of the model at the upstream. */
  readonly upstreamModel: string
}

/** Returns the model's resource name in the Gemini API. */
export const geminiResource = (model: string): string =>
  /^(models|tunedModels)\//.test(model) ? model : `models/${model}`

const escaped = (resource: string): string => resource.split('/').map(encodeURIComponent).join('/')

/** Returns the path of a model's `method` after the deployment's base address. */
export function geminiPath({ deployment, upstreamModel }: Where, method: string): string {
  const { google } = deployment
  const version = /\/v\d[a-z\d]*\/?$/.test(deployment.apiBase) ? '' : google ? '/v1' : '/v1beta'
  if (!google) return `${version}/${escaped(geminiResource(upstreamModel))}:${method}`
  const model = upstreamModel.replace(/^models\//, '')
  const resource = /^(publishers|endpoints)\//.test(model) ? model : `publishers/google/models/${model}`
  return `${version}/${escaped(`projects/${google.project}/locations/${google.location}/${resource}`)}:${method}`
}

/**
 * Returns a path of a provider's own API relative to the deployment's base address. A version that the base address
 * ends with is removed from the path.
 */
export function nativePath(target: Pick<Target, 'deployment' | 'protocol'>, path: string): string {
  const base = `${new URL(target.deployment.apiBase).pathname}${basePathOf(target)}`
  const [version] = /\/v\d\w*$/.exec(base) ?? []
  return version !== undefined && path.startsWith(`${version}/`) ? path.slice(version.length) : path
}

/**
 * Rewrites a URL in a provider's response for the gateway's clients: below `prefix` when it is under the deployment's
 * base address, else unchanged.
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

/** Reports whether a client's path stays below the base address, even if servers decode it several times. */
export function staysBelow(path: string, isSlashEncodable: boolean): boolean {
  if (!path.startsWith('/') || (!isSlashEncodable && /%(25)*2f/i.test(path))) return false
  let decoded = path
  // More often than any server decodes.
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
