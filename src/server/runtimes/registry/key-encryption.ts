import { createRowCipher, nextVersion } from '../../db/encrypted-rows.ts'
import { DecryptionError, type Keyring } from '../../platform/encryption.ts'
import { masked } from '../../platform/mask.ts'
import type { CredentialRow, HarnessRow } from './store.ts'

/** A stored key, decrypted. */
export interface DecryptedKey {
  /** Undefined when no key is stored, or it cannot be decrypted. */
  readonly apiKey: string | undefined
  /** Why the key cannot be decrypted. */
  readonly problem: string | undefined
}

interface KeyOfRuntime {
  /** Built-in id or alias. */
  readonly id: string
  readonly apiBase: string
  readonly apiKey: string
}

/** Encrypts and decrypts the keys of runtimes. Each is bound to the runtime's address. Security: S25. */
export type RuntimeKeyEncryption = ReturnType<typeof createRuntimeKeyEncryption>

export function createRuntimeKeyEncryption(keyring: Keyring) {
  const credentials = createRowCipher(keyring, 'runtime_credentials')
  const harnesses = createRowCipher(keyring, 'runtime_harnesses')

  return {
    /** Returns the row of a credential without its id. */
    credentialRow({ id, apiBase: api_base, apiKey }: KeyOfRuntime, before: number | undefined) {
      const version = nextVersion(before)
      const sealed = credentials.encrypt(apiKey, { id, api_base, version })
      return { api_base, version, masked: masked(apiKey), ...sealed }
    },

    /** Returns the columns of a harness that change with its address. */
    harnessColumns(
      { id: alias, apiBase: api_base, apiKey }: Omit<KeyOfRuntime, 'apiKey'> & { readonly apiKey: string | undefined },
      before: number | undefined,
    ) {
      const version = nextVersion(before)
      if (apiKey === undefined) return { api_base, version, masked: null, sealed: null, key_id: null }
      const sealed = harnesses.encrypt(apiKey, { alias, api_base, version })
      return { api_base, version, masked: masked(apiKey), ...sealed }
    },

    decryptCredential: (row: CredentialRow): DecryptedKey => decrypted(row.key_id, () => credentials.decrypt(row)),

    decryptHarness({ sealed, ...row }: HarnessRow): DecryptedKey {
      if (!sealed) return { apiKey: undefined, problem: undefined }
      return decrypted(row.key_id, () => harnesses.decrypt({ ...row, sealed }))
    },
  }
}

function decrypted(keyId: string | null, decrypt: () => Buffer): DecryptedKey {
  try {
    return { apiKey: decrypt().toString(), problem: undefined }
  } catch (error) {
    if (!(error instanceof DecryptionError)) throw error
    const problem =
      error.reason === 'unknown_key'
        ? `its API key is encrypted with encryption key ${keyId}, which is not configured; store the API key again`
        : 'its stored API key was damaged or modified; store it again'
    return { apiKey: undefined, problem }
  }
}
