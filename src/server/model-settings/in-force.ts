import type { Config, Deployment } from '../config/config.ts'
import { deploymentId } from '../config/providers.ts'
import { checkCredential, checkModel } from './check.ts'
import type { Params } from './secret-params.ts'
import type { StoredCredential, StoredModel } from './stored-settings.ts'

/** What the database holds. */
export interface Stored {
  readonly credentials: readonly StoredCredential[]
  readonly models: readonly StoredModel[]
}

/** A stored credential and what it enables; nothing while there is an `error`. */
export interface CredentialState {
  readonly stored: StoredCredential
  readonly deployments: readonly Deployment[]
  readonly error: string | undefined
}

/** A stored model and what serves it; undefined while there is an `error`. */
export interface ModelState {
  readonly stored: StoredModel
  readonly deployment: Deployment | undefined
  readonly error: string | undefined
}

/** The models that can be called, and what became of each stored thing. */
export interface InForce {
  /** Those of the configuration first, then stored models, then what stored credentials enable. */
  readonly deployments: readonly Deployment[]
  /** By provider. */
  readonly credentials: ReadonlyMap<string, CredentialState>
  readonly models: readonly ModelState[]
}

/** The part of the configuration that stored settings are put beside. */
export type Beside = Pick<Config, 'deployments' | 'modelsFrom' | 'environmentKeys' | 'demo' | 'outboundAllow'>

/**
 * Puts what is stored beside the configuration. The configuration wins: its names take no further deployments, and its
 * providers no stored credential. What cannot be used is left out by itself, with the reason.
 */
export function settingsInForce(config: Beside, stored: Stored): InForce {
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

/** What sets a provider or a name outside of the API, as a sentence goes on; undefined when nothing does. */
export function lockOf(
  { deployments, modelsFrom }: Pick<Beside, 'deployments' | 'modelsFrom'>,
  isMeant: (deployment: Deployment) => boolean,
): string | undefined {
  if (!deployments.some(isMeant)) return undefined
  return modelsFrom === 'file' ? 'comes from the configuration file' : 'comes from the environment of the service'
}

function credentialState(stored: StoredCredential, config: Beside): CredentialState {
  const { provider, params } = stored
  const lock = lockOf(config, deployment => deployment.provider === provider)
  if (lock !== undefined) return { stored, deployments: [], error: `not used: provider ${provider} ${lock}` }
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
  readonly config: Beside
  readonly fixedNames: ReadonlySet<string>
  readonly credentialOf: (provider: string) => Params | undefined
}

function modelState(stored: StoredModel, { config, fixedNames, credentialOf }: Surroundings): ModelState {
  const { id, modelName, params, origin } = stored
  const out = (error: string | undefined): ModelState => ({ stored, deployment: undefined, error })
  if (!params) return out(stored.problem)
  if (fixedNames.has(modelName))
    return out(`not used: ${modelName} ${lockOf(config, ({ alias }) => alias === modelName)}`)
  const { deployment, problems } = checkModel({ model_name: modelName, params }, { config, credentialOf })
  if (!deployment) return out(problems.join('; '))
  if (origin !== undefined && origin !== originOf(deployment))
    return out(`its secrets are for ${origin}; give them again`)
  return { stored, deployment: { ...deployment, id }, error: undefined }
}

/** Scheme, host and port: what a secret is bound to. */
export const originOf = ({ apiBase }: Pick<Deployment, 'apiBase'>): string => new URL(apiBase).origin
