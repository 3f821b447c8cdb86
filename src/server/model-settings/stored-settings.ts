import { createRowSealer, nextVersion } from '../db/sealed-rows.ts'
import { type Keyring, SealError, type Sealed } from '../platform/seal.ts'
import type { CredentialRow } from './credential-store.ts'
import type { DeploymentRow } from './deployment-store.ts'
import { type Params, secretsOf, shownParams } from './secret-params.ts'

/** A provider's credential as the database has it, opened. */
export interface StoredCredential {
  readonly provider: string
  readonly apiBase: string
  /** Empty without a key. */
  readonly masked: string
  readonly updatedAt: Date
  /** Its address among them; undefined when it does not open. */
  readonly params: Params | undefined
  /** Why it does not open. */
  readonly problem: string | undefined
}

/** A model as the database has it, opened. */
export interface StoredModel {
  readonly id: string
  readonly modelName: string
  /** With masks in the place of secrets. */
  readonly shown: Params
  /** With its secrets; undefined when they do not open. */
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
  /** Where the model is called: its secrets open for no other host. */
  readonly origin: string
}

/** Turns credentials and models into rows and back. Secrets are sealed on the way in, and bound to their host. */
export type SettingsSeals = ReturnType<typeof createSettingsSeals>

export function createSettingsSeals(keyring: Keyring) {
  const credentials = createRowSealer(keyring, 'provider_credentials')
  const deployments = createRowSealer(keyring, 'deployments')

  return {
    /** The row of a credential but for its id, which is the provider's name. */
    credentialRow({ provider, apiBase, masked, params }: NewCredential, before: number | undefined) {
      const row = { provider, api_base: apiBase, version: nextVersion(before) }
      return { ...row, masked, ...credentials.seal(JSON.stringify(params), { ...row, id: provider }) }
    },

    openCredential(row: CredentialRow): StoredCredential {
      const { provider, api_base: apiBase, masked, updated_at: updatedAt } = row
      const { value, problem } = opened(row.key_id, () => credentials.open(row))
      const params = value && { ...value, api_base: apiBase }
      return { provider, apiBase, masked, updatedAt, params, problem }
    },

    /** The row of a model but for its id. */
    modelRow({ id, modelName, params, origin }: NewModel, before: number | undefined) {
      const version = nextVersion(before)
      const secrets = secretsOf(params)
      const sealed: Sealed | { sealed: null; key_id: null } = secrets
        ? deployments.seal(JSON.stringify({ origin, secrets }), { id, version })
        : { sealed: null, key_id: null }
      return { model_name: modelName, params: shownParams(params), version, ...sealed }
    },

    openModel({ sealed, ...row }: DeploymentRow): StoredModel {
      const { value, problem } = sealed
        ? opened(row.key_id, () => deployments.open({ ...row, sealed }))
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

interface Opened {
  readonly value: Params | undefined
  readonly problem: string | undefined
}

function opened(keyId: string | null, open: () => Buffer): Opened {
  try {
    return { value: JSON.parse(open().toString()), problem: undefined }
  } catch (error) {
    const problem =
      error instanceof SealError && error.reason === 'unknown_key'
        ? `it is sealed with encryption key ${keyId}, which is not given here`
        : 'what was sealed was damaged or changed; store it again'
    return { value: undefined, problem }
  }
}
