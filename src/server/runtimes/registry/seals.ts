import { createRowSealer, nextVersion } from '../../db/sealed-rows.ts'
import { masked } from '../../platform/mask.ts'
import { type Keyring, SealError } from '../../platform/seal.ts'
import type { CredentialRow, HarnessRow } from './store.ts'

/** A key that was stored, opened. */
export interface OpenedKey {
  /** Undefined when there is none, and when it does not open. */
  readonly apiKey: string | undefined
  /** Why it does not open. */
  readonly problem: string | undefined
}

interface KeyOfRuntime {
  /** Built-in id or alias. */
  readonly id: string
  readonly apiBase: string
  readonly apiKey: string
}

/** Seals the keys of runtimes and opens them. Each is bound to its address: it opens for no other. Security: S25. */
export type RuntimeSeals = ReturnType<typeof createRuntimeSeals>

export function createRuntimeSeals(keyring: Keyring) {
  const credentials = createRowSealer(keyring, 'runtime_credentials')
  const harnesses = createRowSealer(keyring, 'runtime_harnesses')

  return {
    /** The row of a credential but for its id. */
    credentialRow({ id, apiBase: api_base, apiKey }: KeyOfRuntime, before: number | undefined) {
      const version = nextVersion(before)
      const sealed = credentials.seal(apiKey, { id, api_base, version })
      return { api_base, version, masked: masked(apiKey), ...sealed }
    },

    /** The columns of a harness that hang together with its address. */
    harnessColumns(
      { id: alias, apiBase: api_base, apiKey }: Omit<KeyOfRuntime, 'apiKey'> & { readonly apiKey: string | undefined },
      before: number | undefined,
    ) {
      const version = nextVersion(before)
      if (apiKey === undefined) return { api_base, version, masked: null, sealed: null, key_id: null }
      const sealed = harnesses.seal(apiKey, { alias, api_base, version })
      return { api_base, version, masked: masked(apiKey), ...sealed }
    },

    openCredential: (row: CredentialRow): OpenedKey => opened(row.key_id, () => credentials.open(row)),

    openHarness({ sealed, ...row }: HarnessRow): OpenedKey {
      if (!sealed) return { apiKey: undefined, problem: undefined }
      return opened(row.key_id, () => harnesses.open({ ...row, sealed }))
    },
  }
}

function opened(keyId: string | null, open: () => Buffer): OpenedKey {
  try {
    return { apiKey: open().toString(), problem: undefined }
  } catch (error) {
    if (!(error instanceof SealError)) throw error
    const problem =
      error.reason === 'unknown_key'
        ? `its key is sealed with encryption key ${keyId}, which is not given here; store it again`
        : 'its stored key was damaged or changed; store it again'
    return { apiKey: undefined, problem }
  }
}
