import type { Caller } from '../http/caller.ts'
import { AppError } from '../platform/errors.ts'
import type { KeyLookup } from './lookup.ts'

/** What work is for, and who set it up. */
interface Work {
  /** Whose objects it may see. */
  readonly ownerId: string
  /** In whose name it runs without a key. */
  readonly principal: string
  /** Of the triggering object, or of the agent that it is for; null: the master key or an admin key without limits. */
  readonly runAsKeyId: string | null
}

/**
 * The caller under whom triggered work runs: the key that set it up, with that key's models, budgets, limits and life. Rejects
 * with `conflict` when that key was revoked or has expired, and with `unavailable`.
 */
export type RunAs = (work: Work) => Promise<Caller>

/** The one rule for webhooks and schedules. What a caller triggers runs under the caller's own key instead. */
export const createRunAs =
  (keys: Pick<KeyLookup, 'byId'>): RunAs =>
  async ({ ownerId, principal, runAsKeyId }) => {
    const base = { role: 'user', ownerScope: ownerId } as const
    if (runAsKeyId === null) return { ...base, principal, key: undefined }
    const holder = await keys.byId(runAsKeyId)
    if (!holder)
      throw new AppError(
        'conflict',
        `key ${runAsKeyId}, which set this up, was revoked or has expired; change it, or its webhook secret, with a valid key`,
      )
    return { ...base, principal: holder.principal, key: holder.key }
  }
