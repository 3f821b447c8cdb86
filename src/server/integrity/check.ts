import { createRowCipher, type EncryptedTable, encryptedTables } from '../db/encrypted-rows.ts'
import { DecryptionError, type Keyring } from '../platform/encryption.ts'
import { integrityRules } from './rules.ts'
import type { BrokenRows, IntegrityStore } from './store.ts'

/** Result of checking one rule. */
export interface IntegrityResult extends BrokenRows {
  readonly claim: string
}

interface Checking {
  readonly store: IntegrityStore
  /** Undefined when no encryption key is given. */
  readonly keyring: Keyring | undefined
}

/** Checks all stored data in one snapshot; reads every row. The service may run meanwhile. */
export async function checkIntegrity({ store, keyring }: Checking): Promise<IntegrityResult[]> {
  await store.begin()
  try {
    const results: IntegrityResult[] = []
    for (const rule of integrityRules) results.push({ claim: rule.claim, ...(await store.broken(rule)) })
    return [...results, await checkEncrypted(store, keyring)]
  } finally {
    await store.end()
  }
}

/** Claim of the rule that needs the encryption keys. */
export const decryptionClaim = 'every encrypted value can be decrypted'

const shownRows = 3

/** Tries to decrypt every stored value. */
async function checkEncrypted(store: IntegrityStore, keyring: Keyring | undefined): Promise<IntegrityResult> {
  const broken = new Map<string, number>()
  for (const table of Object.keys(encryptedTables) as EncryptedTable[]) {
    const cipher = keyring && createRowCipher(keyring, table)
    for await (const rows of store.encrypted(table)) {
      for (const row of rows) {
        const problem = problemOf(() => cipher?.decrypt(row), row.key_id, cipher !== undefined)
        if (problem !== undefined) broken.set(`${table}: ${problem}`, (broken.get(`${table}: ${problem}`) ?? 0) + 1)
      }
    }
  }
  const rows = [...broken].map(([problem, count]) => `${problem} (${count})`)
  const count = [...broken.values()].reduce((sum, of) => sum + of, 0)
  return { claim: decryptionClaim, count, rows: rows.slice(0, shownRows) }
}

function problemOf(decrypt: () => unknown, keyId: string, hasKeys: boolean): string | undefined {
  if (!hasKeys) return `encryption key ${keyId} is missing`
  try {
    decrypt()
    return undefined
  } catch (error) {
    if (!(error instanceof DecryptionError)) throw error
    return error.reason === 'unknown_key' ? `encryption key ${keyId} is missing` : 'value was modified'
  }
}
