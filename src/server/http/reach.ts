import { AppError } from '../platform/errors.ts'
import type { By, Caller } from './caller.ts'

/** True for a caller with an owner, a list of models, MCP servers or tools, a budget or a rate limit, its own or inherited. */
export const isNarrow = ({ ownerScope, key }: Pick<Caller, 'key' | 'ownerScope'>): boolean =>
  ownerScope !== undefined || key?.isNarrow === true

/**
 * Throws `forbidden` for a limited admin key: models and prices apply to all callers, and changing them could bypass
 * the limits of the key.
 */
export function rejectNarrow({ caller }: Pick<By, 'caller'>): void {
  if (isNarrow(caller))
    throw new AppError('forbidden', 'this key has an owner, a list of models or a limit; use an admin key without them')
}

/** Error for a call with the key that the program of a session has. */
export const notForPrograms = (): AppError =>
  new AppError('forbidden', 'programs of a session may not use this operation; use a key of your own')

/**
 * Returns the value of `run_as_key_id` for work that this caller sets up. Null, which means no limits and no expiry,
 * for the master key and for admin keys without limits.
 */
export function runAsOf(caller: Pick<Caller, 'key' | 'role' | 'ownerScope'>): string | null {
  const { key, role } = caller
  if (!key || (role === 'admin' && !isNarrow(caller) && !key.expires)) return null
  return key.id
}
