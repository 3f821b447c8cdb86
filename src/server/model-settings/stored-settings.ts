import { createRowCipher, nextVersion } from '../db/encrypted-rows.ts'
import { DecryptionError, type EncryptedValue, type Keyring } from '../platform/encryption.ts'
import type { CredentialRow } from './credential-store.ts'
import type { DeploymentRow } from './deployment-store.ts'
import { type Params, secretsOf, shownParams } from './secret-params.ts'

/** A provider's stored credential, decrypted. */
export interface StoredCredential {
  readonly provider: string
  readonly apiBase: string
  /** Empty without a key. */
  readonly masked: string
  readonly updatedAt: Date
  /** Includes the address; undefined when the credential cannot be decrypted. */
  readonly params: Params | undefined
  /** Why it cannot be decrypted. */
  readonly problem: string | undefined
}

/** A stored model, decrypted. */
export interface StoredModel {
  readonly id: string
  readonly modelName: string
  /** With masks in the place of secrets. */
  readonly shown: Params
  /** Includes the secrets; undefined when they cannot be decrypted. */
  readonly params: Params | undefined
  /** Scheme and host that the secrets were stored for; undefined without any. */
  readonly origin: string | undefined
  readonly problem: string | undefined
  readonly createdBy: string
  readonly createdAt: Date
  readonly updatedAt: Date
}

interface NewCredential {
  readonly provider: string
  readonly apiBase: string
  readonly masked: string
  readonly params: Params
}

interface NewModel {
  readonly id: string
  readonly modelName: string
  readonly params: Params
  /** Scheme and host of the model's address; its secrets can be decrypted for this host only. */
  readonly origin: string
}

/** Turns credentials and models into rows and back. Secrets are encrypted, and bound to their host. */
export type SettingsEncryption = ReturnType<typeof createSettingsEncryption>

export function createSettingsEncryption(keyring: Keyring) {
  const credentials = createRowCipher(keyring, 'provider_credentials')
  const deployments = createRowCipher(keyring, 'deployments')

  return {
    /** The row of a credential but for its id, which is the provider's name. */
    credentialRow({ provider, apiBase, masked, params }: NewCredential, before: number | undefined) {
      const row = { provider, api_base: apiBase, version: nextVersion(before) }
      return { ...row, masked, ...credentials.encrypt(JSON.stringify(params), { ...row, id: provider }) }
    },

    decryptCredential(row: CredentialRow): StoredCredential {
      const { provider, api_base: apiBase, masked, updated_at: updatedAt } = row
      const { value, problem } = decrypted(row.key_id, () => credentials.decrypt(row))
      const params = value && { ...value, api_base: apiBase }
      return { provider, apiBase, masked, updatedAt, params, problem }
    },

    /** The row of a model but for its id. */
    modelRow({ id, modelName, params, origin }: NewModel, before: number | undefined) {
      const version = nextVersion(before)
      const secrets = secretsOf(params)
      const sealed: EncryptedValue | { sealed: null; key_id: null } = secrets
        ? deployments.encrypt(JSON.stringify({ origin, secrets }), { id, version })
        : { sealed: null, key_id: null }
      return { model_name: modelName, params: shownParams(params), version, ...sealed }
    },

    decryptModel({ sealed, ...row }: DeploymentRow): StoredModel {
      const { value, problem } = sealed
        ? decrypted(row.key_id, () => deployments.decrypt({ ...row, sealed }))
        : { value: {}, problem: undefined }
      return {
        id: row.id,
        modelName: row.model_name,
        shown: row.params,
        params: value && { ...row.params, ...(value['secrets'] as Params | undefined) },
        origin: value?.['origin'] as string | undefined,
        problem,
        createdBy: row.created_by,
        createdAt: row.created_at,
        updatedAt: row.updated_at,
      }
    },
  }
}

interface Decrypted {
  readonly value: Params | undefined
  readonly problem: string | undefined
}

function decrypted(keyId: string | null, decrypt: () => Buffer): Decrypted {
  try {
    return { value: JSON.parse(decrypt().toString()), problem: undefined }
  } catch (error) {
    const problem =
      error instanceof DecryptionError && error.reason === 'unknown_key'
        ? `it is encrypted with encryption key ${keyId}, which is not configured`
        : 'its encrypted value is damaged or was modified; store it again'
    return { value: undefined, problem }
  }
}
