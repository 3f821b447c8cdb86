import type { Deployment } from '../../config/config.ts'

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
