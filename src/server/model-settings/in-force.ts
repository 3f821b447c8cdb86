import type { Config } from '../config/config.ts'
import type { Deployment } from '../config/deployments.ts'
import { deploymentId } from '../config/providers.ts'
import { checkCredential, checkModel } from './check.ts'
import type { Params } from './secret-params.ts'
import type { StoredCredential, StoredModel } from './stored-settings.ts'

/** Settings stored in the database. */
export interface Stored {
  readonly credentials: readonly StoredCredential[]
  readonly models: readonly StoredModel[]
}

/** A stored credential and the deployments that it enables, none if it has an `error`. */
export interface CredentialState {
  readonly stored: StoredCredential
  readonly deployments: readonly Deployment[]
  readonly error: string | undefined
}

/** A stored model and its deployment, undefined if it has an `error`. */
export interface ModelState {
  readonly stored: StoredModel
  readonly deployment: Deployment | undefined
  readonly error: string | undefined
}

/** Active deployments, and the state of each stored credential and model. */
export interface InForce {
  /** Deployments of the configuration, then stored models, then those that stored credentials enable. */
  readonly deployments: readonly Deployment[]
  /** By provider. */
  readonly credentials: ReadonlyMap<string, CredentialState>
  readonly models: readonly ModelState[]
}

/** Configuration that stored settings are merged with. */
export type BaseConfig = Pick<Config, 'deployments' | 'modelsFrom' | 'environmentKeys' | 'demo' | 'outboundAllow'>

/**
 * Merges stored settings with the configuration. The configuration wins: its names accept no stored deployments, and
 * its providers no stored credential. An invalid setting is disabled with the reason; the others stay active.
 */
export function settingsInForce(config: BaseConfig, stored: Stored): InForce {
  const fixedNames = new Set(config.deployments.map(({ alias }) => alias))
  const credentials = new Map(stored.credentials.map(each => [each.provider, credentialState(each, config)]))
  const credentialOf = (provider: string): Params | undefined => {
    const state = credentials.get(provider)
    return state?.error === undefined ? state?.stored.params : undefined
  }
  const models = stored.models.map(each => modelState(each, { config, fixedNames, credentialOf }))
  const added = models.flatMap(({ deployment }) => deployment ?? [])
  const names = new Set([...fixedNames, ...added.map(({ alias }) => alias)])
  const enabled = [...credentials.values()].flatMap(state => state.deployments.filter(({ alias }) => !names.has(alias)))
  return { deployments: [...config.deployments, ...added, ...enabled], credentials, models }
}

/**
 * Returns where matching deployments are configured outside of the API, as the end of a message; undefined if nowhere.
 */
export function lockReason(
  { deployments, modelsFrom }: Pick<BaseConfig, 'deployments' | 'modelsFrom'>,
  matches: (deployment: Deployment) => boolean,
): string | undefined {
  if (!deployments.some(matches)) return undefined
  return modelsFrom === 'file' ? 'comes from the configuration file' : 'comes from the environment of the service'
}

function credentialState(stored: StoredCredential, config: BaseConfig): CredentialState {
  const { provider, params } = stored
  const lock = lockReason(config, deployment => deployment.provider === provider)
  if (lock !== undefined) return { stored, deployments: [], error: `disabled: provider ${provider} ${lock}` }
  if (!params) return { stored, deployments: [], error: stored.problem }
  const { deployments, problems } = checkCredential({ provider, params }, config)
  if (problems.length > 0) return { stored, deployments: [], error: problems.join('; ') }
  return {
    stored,
    deployments: deployments.map(each => ({ ...each, id: deploymentId(each.alias, 1) })),
    error: undefined,
  }
}

interface Surroundings {
  readonly config: BaseConfig
  readonly fixedNames: ReadonlySet<string>
  readonly credentialOf: (provider: string) => Params | undefined
}

function modelState(stored: StoredModel, { config, fixedNames, credentialOf }: Surroundings): ModelState {
  const { id, modelName, params, origin } = stored
  const out = (error: string | undefined): ModelState => ({ stored, deployment: undefined, error })
  if (!params) return out(stored.problem)
  if (fixedNames.has(modelName))
    return out(`disabled: ${modelName} ${lockReason(config, ({ alias }) => alias === modelName)}`)
  const { deployment, problems } = checkModel({ model_name: modelName, params }, { config, credentialOf })
  if (!deployment) return out(problems.join('; '))
  if (origin !== undefined && origin !== originOf(deployment))
    return out(`its secrets were stored for ${origin}; send them again`)
  return { stored, deployment: { ...deployment, id }, error: undefined }
}

/** Scheme, host and port: what a secret is bound to. */
export const originOf = ({ apiBase }: Pick<Deployment, 'apiBase'>): string => new URL(apiBase).origin
