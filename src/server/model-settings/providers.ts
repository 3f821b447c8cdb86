import type { Provider, ProviderTest, ProviderWrite } from '../../contract/providers.ts'
import type { Audit } from '../audit/audit.ts'
import type { Deployment } from '../config/deployments.ts'
import { providerOf } from '../config/providers.ts'
import type { By } from '../http/caller.ts'
import { rejectNarrow } from '../http/reach.ts'
import { AppError, invalid, notFound } from '../platform/errors.ts'
import { checkCredential } from './check.ts'
import type { CredentialRow, CredentialStore } from './credential-store.ts'
import { lockReason } from './in-force.ts'
import { listedProvider, listedProviders, maskedKey } from './listing.ts'
import type { ModelsInForce } from './models-in-force.ts'
import { mergedParams } from './secret-params.ts'
import type { SettingsEncryption } from './stored-settings.ts'

/** Checks the credential of a deployment with a cheap upstream call. Never rejects; messages contain no secret. */
export type CheckCredential = (deployment: Deployment) => Promise<{ latencyMs: number; problem: string | undefined }>

interface Deps {
  readonly store: CredentialStore
  readonly encryption: SettingsEncryption
  readonly inForce: ModelsInForce
  readonly audit: Audit
  readonly checkCredential: CheckCredential
}

/** Rules for provider credentials. */
export type Providers = ReturnType<typeof createProviders>

export function createProviders({ store, encryption, inForce, audit, checkCredential: check }: Deps) {
  const mustBeKnown = (id: string): void => {
    if (!listedProviders(inForce.now).some(provider => provider.id === id)) throw notFound('provider', id)
  }

  const rejectLocked = (id: string): void => {
    const lock = lockReason(inForce.now.config, ({ provider }) => provider === id)
    if (lock !== undefined) throw new AppError('conflict', `provider ${id} ${lock}; change it there`)
  }

  /** Returns a credential with a deployment that uses it. Throws `invalid` if it is incomplete or its address is not allowed. */
  function checkedCredential(id: string, { api_base, ...write }: ProviderWrite) {
    if (!providerOf(id)) throw notFound('provider', id)
    const params = mergedParams({}, write)
    const given = { ...params, ...(api_base !== undefined && { api_base }) }
    const { deployments, problems } = checkCredential({ provider: id, params: given }, inForce.now.config)
    const [deployment] = deployments
    if (problems.length > 0 || !deployment) throw invalid(problems.join('; '))
    return { params, deployment }
  }

  async function resultOf(deployment: Deployment): Promise<ProviderTest> {
    const { latencyMs, problem } = await check(deployment)
    return { ok: problem === undefined, latency_ms: latencyMs, ...(problem !== undefined && { error: problem }) }
  }

  return {
    list: (): Provider[] => listedProviders(inForce.now),

    /** Replaces the credential of a provider; resolves once it is active in this process. */
    async set(id: string, write: ProviderWrite, by: By): Promise<Provider> {
      mustBeKnown(id)
      rejectNarrow(by)
      rejectLocked(id)
      const { params, deployment } = checkedCredential(id, write)
      const { apiBase } = deployment
      const credential = { provider: id, apiBase, masked: maskedKey(params) ?? '', params }
      await store.put(
        id,
        before => encryption.credentialRow(credential, before),
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

    /** Deletes the stored credential, even if the configuration overrides it. */
    async remove(id: string, by: By): Promise<void> {
      mustBeKnown(id)
      rejectNarrow(by)
      const isRemoved = await store.remove(id, (sql, before) =>
        audit.record(sql, {
          actor: by.actor,
          action: 'provider.delete',
          objectId: id,
          before: before && publicFields(before),
        }),
      )
      if (!isRemoved) {
        rejectLocked(id)
        throw new AppError('not_found', `provider ${id} has no stored credential`)
      }
      await inForce.refresh()
    },

    /** Tests a credential without storing it. */
    async testGiven(id: string, write: ProviderWrite, by: By): Promise<ProviderTest> {
      mustBeKnown(id)
      rejectNarrow(by)
      return resultOf({ ...checkedCredential(id, write).deployment, id })
    },

    /** Tests the credential in use. */
    async test(id: string): Promise<ProviderTest> {
      mustBeKnown(id)
      const { config, credentials } = inForce.now
      const stored = credentials.get(id)
      const deployment = config.deployments.find(({ provider }) => provider === id) ?? stored?.deployments[0]
      if (!deployment && stored?.error !== undefined) return { ok: false, latency_ms: 0, error: stored.error }
      if (!deployment) throw new AppError('conflict', `provider ${id} is not connected; store its credential first`)
      return resultOf(deployment)
    },
  }
}

const publicFields = ({ api_base }: CredentialRow) => ({ api_base })
