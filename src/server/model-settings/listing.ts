import type { ModelSetting } from '../../contract/model-settings.ts'
import type { Provider } from '../../contract/providers.ts'
import type { Deployment } from '../config/deployments.ts'
import { providerOf, providers } from '../config/providers.ts'
import type { CredentialState, ModelState } from './in-force.ts'
import type { ModelsInForce } from './models-in-force.ts'
import { paramsOf } from './params-of-deployment.ts'
import { shownParams } from './secret-params.ts'

type Now = ModelsInForce['now']

/** Returns all providers: the built-in ones, then custom ones of the configuration. */
export function listedProviders(now: Now): Provider[] {
  const named = now.config.deployments.map(({ provider }) => provider)
  return [...new Set([...Object.keys(providers), ...named])].map(id => listedProvider(id, now))
}

/** Returns the settings of a provider; the configuration overrides stored ones. */
export function listedProvider(id: string, { config, credentials }: Now): Provider {
  const known = providerOf(id)
  const [configured] = config.deployments.filter(({ provider }) => provider === id)
  const stored = credentials.get(id)
  return {
    id,
    name: known?.name ?? id,
    protocols: [...(known?.protocols ?? configured?.protocols ?? [])],
    default_api_base: known?.apiBase ?? null,
    ...(configured ? fixedFields(configured, config) : stored ? storedFields(stored) : unconnected(known?.apiBase)),
  }
}

type Connection = Omit<Provider, 'id' | 'name' | 'protocols' | 'default_api_base'>

const unconnected = (apiBase: string | undefined): Connection => ({
  api_base: apiBase ?? null,
  connected: false,
  masked_api_key: null,
  source: null,
  locked: false,
  error: null,
  updated_at: null,
})

const storedFields = ({ stored, error }: CredentialState): Connection => ({
  api_base: stored.apiBase,
  connected: error === undefined,
  masked_api_key: stored.masked === '' ? null : stored.masked,
  source: 'api',
  locked: false,
  error: error ?? null,
  updated_at: stored.updatedAt.toISOString(),
})

const fixedFields = (deployment: Deployment, { modelsFrom }: Now['config']): Connection => ({
  api_base: deployment.apiBase,
  connected: true,
  masked_api_key: maskedKey(paramsOf(deployment)),
  source: modelsFrom,
  locked: true,
  error: null,
  updated_at: null,
})

/** Returns the masked credential of any kind; null without one. */
export function maskedKey(params: Readonly<Record<string, unknown>>): string | null {
  const shown = shownParams(params)
  const masks = [shown['api_key'], shown['aws_access_key_id'], shown['vertex_credentials']]
  return (masks.find(mask => typeof mask === 'string') as string | undefined) ?? null
}

/**
 * Returns all models: those of the configuration, those added through the API, those that stored credentials enable.
 */
export function listedModels({ config, models, deployments }: Now): ModelSetting[] {
  const own = new Set([...config.deployments.map(({ id }) => id), ...models.map(({ stored }) => stored.id)])
  return [
    ...config.deployments.map(deployment => lockedModel(deployment, config.modelsFrom)),
    ...models.map(addedModel),
    ...deployments.filter(({ id }) => !own.has(id)).map(deployment => lockedModel(deployment, 'api')),
  ]
}

const lockedModel = (deployment: Deployment, source: ModelSetting['source']): ModelSetting => ({
  id: deployment.id,
  model_name: deployment.alias,
  params: shownParams(paramsOf(deployment)),
  source,
  locked: true,
  error: null,
  created_by: null,
  created_at: null,
  updated_at: null,
})

const addedModel = ({ stored, error }: ModelState): ModelSetting => ({
  id: stored.id,
  model_name: stored.modelName,
  params: stored.shown,
  source: 'api',
  locked: false,
  error: error ?? null,
  created_by: stored.createdBy,
  created_at: stored.createdAt.toISOString(),
  updated_at: stored.updatedAt.toISOString(),
})
