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
