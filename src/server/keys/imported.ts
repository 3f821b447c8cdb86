import { hash, type KeyObject } from 'node:crypto'
import type { Log } from '../platform/log.ts'
import { hashOf } from './format.ts'

/** Keys of LiteLLM begin with this; the rest is free. */
const prefix = 'sk-'
const maxLength = 500
const refreshMs = 5_000

/** True if the text may be a key of another gateway. */
export const mayBeImported = (text: string): boolean => text.startsWith(prefix) && text.length <= maxLength

/** Returns the SHA-256 in hex that LiteLLM stores for a key. */
const importedHash = (presented: string): string => hash('sha256', presented, 'hex')

/**
 * Returns the hash to store for an imported key. With the pepper, so that weak keys cannot be guessed from the database.
 */
export const hashOfImported = (sha256: string, pepper: Buffer | KeyObject): Buffer => hashOf(`sha256:${sha256}`, pepper)

/** Returns the hash under which a presented key of another gateway is stored. */
export const hashOfForeign = (presented: string, pepper: Buffer | KeyObject): Buffer =>
  hashOfImported(importedHash(presented), pepper)

/** Whether imported keys exist. */
export interface ImportedKeys {
  /** Returns the cached state, which is at most 5 s old while foreign keys are presented. */
  exist(): boolean
  /** Reads the state again, unless imported keys are known to exist. */
  refresh(): Promise<void>
}

interface Options {
  /** Reads whether there is an imported key that was not revoked. */
  readonly read: () => Promise<boolean>
  readonly log: Pick<Log, 'debug'>
  /** Monotonic. */
  readonly nowMs: () => number
}

/** Creates the cached state. Without imported keys a foreign key needs no separate query. */
export function createImportedKeys({ read, log, nowMs }: Options): ImportedKeys {
  let found = false
  let readAtMs = Number.NEGATIVE_INFINITY
  async function refresh(): Promise<void> {
    if (found) return
    readAtMs = nowMs()
    try {
      found = await read()
    } catch (error) {
      log.debug({ err: error }, 'cannot read whether imported keys exist')
    }
  }
  return {
    refresh,
    exist() {
      if (!found && nowMs() - readAtMs >= refreshMs) void refresh()
      return found
    },
  }
}
