import type { Provider, ProviderTest, ProviderWrite } from '../../contract/providers.ts'
import type { Audit } from '../audit/audit.ts'
import type { Deployment } from '../config/config.ts'
import { providerOf } from '../config/providers.ts'
import type { By } from '../http/caller.ts'
import { refuseNarrow } from '../http/reach.ts'
import { AppError, invalid, notFound } from '../platform/errors.ts'
import { checkCredential } from './check.ts'
import type { CredentialRow, CredentialStore } from './credential-store.ts'
import { lockOf } from './in-force.ts'
import { listedProvider, listedProviders, maskedKey } from './listing.ts'
import type { ModelsInForce } from './models-in-force.ts'
import { mergedParams } from './secret-params.ts'
import type { SettingsSeals } from './stored-settings.ts'

/** Asks an upstream, cheaply, whether it takes the deployment's credential. Never rejects; no text holds a secret. */
export type CheckCredential = (deployment: Deployment) => Promise<{ latencyMs: number; problem: string | undefined }>

interface Deps {
  readonly store: CredentialStore
  readonly seals: SettingsSeals
  readonly inForce: ModelsInForce
  readonly audit: Audit
  readonly checkCredential: CheckCredential
}

/** The rules of providers: what may be stored for which, and what is refused. */
export type Providers = ReturnType<typeof createProviders>

export function createProviders({ store, seals, inForce, audit, checkCredential: check }: Deps) {
  const mustBeKnown = (id: string): void => {
    if (!listedProviders(inForce.now).some(provider => provider.id === id)) throw notFound('provider', id)
  }

  const refuseLocked = (id: string): void => {
    const lock = lockOf(inForce.now.config, ({ provider }) => provider === id)
    if (lock !== undefined) throw new AppError('conflict', `provider ${id} ${lock}; change it there`)
  }

  return {
    list: (): Provider[] => listedProviders(inForce.now),

    /** Stores a credential in the place of the one before; resolves when it is in force here. */
    async set(id: string, { api_base, ...write }: ProviderWrite, by: By): Promise<Provider> {
      mustBeKnown(id)
      refuseNarrow(by)
      refuseLocked(id)
      if (!providerOf(id)) throw notFound('provider', id)
      const params = mergedParams({}, write)
      const given = { ...params, ...(api_base !== undefined && { api_base }) }
      const { deployments, problems } = checkCredential({ provider: id, params: given }, inForce.now.config)
      const [deployment] = deployments
      if (problems.length > 0 || !deployment) throw invalid(problems.join('; '))
      const { apiBase } = deployment
      const credential = { provider: id, apiBase, masked: maskedKey(params) ?? '', params }
      await store.put(
        id,
        before => seals.credentialRow(credential, before),
        (sql, before) =>
          audit.record(sql, {
            actor: by.actor,
            action: 'provider.set',
            objectId: id,
            before: before && publicFields(before),
            after: { api_base: apiBase, parameters: Object.keys(params) },
          }),
      )
      await inForce.refresh()
      return listedProvider(id, inForce.now)
    },

    /** Also removes a credential that the configuration keeps from being used. */
    async remove(id: string, by: By): Promise<void> {
      mustBeKnown(id)
      refuseNarrow(by)
      const isRemoved = await store.remove(id, (sql, before) =>
        audit.record(sql, {
          actor: by.actor,
          action: 'provider.delete',
          objectId: id,
          before: before && publicFields(before),
        }),
      )
      if (!isRemoved) {
        refuseLocked(id)
        throw new AppError('not_found', `no credential of provider ${id} is stored`)
      }
      await inForce.refresh()
    },

    async test(id: string): Promise<ProviderTest> {
      mustBeKnown(id)
      const { config, credentials } = inForce.now
      const stored = credentials.get(id)
      const deployment = config.deployments.find(({ provider }) => provider === id) ?? stored?.deployments[0]
      if (!deployment && stored?.error !== undefined) return { ok: false, latency_ms: 0, error: stored.error }
      if (!deployment) throw new AppError('conflict', `provider ${id} is not connected: store its credential first`)
      const { latencyMs, problem } = await check(deployment)
      return { ok: problem === undefined, latency_ms: latencyMs, ...(problem !== undefined && { error: problem }) }
    },
  }
}

const publicFields = ({ api_base }: CredentialRow) => ({ api_base })
