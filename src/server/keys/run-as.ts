import type { Caller } from '../http/caller.ts'
import { AppError } from '../platform/errors.ts'
import type { KeyLookup } from './lookup.ts'

/** Triggered work, and who set it up. */
interface Work {
  /** Owner whose objects it may access. */
  readonly ownerId: string
  /** Principal if it runs without a key. */
  readonly principal: string
  /** Key of the trigger or its agent; null if the master key or an unlimited admin key set it up. */
  readonly runAsKeyId: string | null
}

/**
 * Returns the caller for triggered work: the key that set it up, with the models, budgets, limits and expiry of that
 * key. Rejects with `conflict` if that key was revoked, has expired or may only read, and with `unavailable`.
 */
export type RunAs = (work: Work) => Promise<Caller>

/** Creates the rule for webhooks and schedules. Work that a caller triggers runs under the caller's own key instead. */
export const createRunAs =
  (keys: Pick<KeyLookup, 'workerById'>): RunAs =>
  async ({ ownerId, principal, runAsKeyId }) => {
    const base = { role: 'user', ownerScope: ownerId } as const
    if (runAsKeyId === null) return { ...base, principal, key: undefined }
    const holder = await keys.workerById(runAsKeyId)
    if (!holder)
      throw new AppError(
        'conflict',
        `key ${runAsKeyId} of this trigger was revoked, has expired or may only read; update the trigger or its webhook secret with a valid key`,
      )
    return { ...base, principal: holder.principal, key: holder.key }
  }
