import { AppError } from '../platform/errors.ts'
import type { By, Caller } from './caller.ts'

/** True for a caller that has an owner, a list of models, a budget or a rate limit, its own or inherited. */
export const isNarrow = ({ ownerScope, key }: Pick<Caller, 'key' | 'ownerScope'>): boolean =>
  ownerScope !== undefined || key?.isNarrow === true

/**
 * Throws `forbidden` for a limited admin key: what serves a name, and at which price, does so for everyone, and could lead
 * such a key out of its limits.
 */
export function refuseNarrow({ caller }: Pick<By, 'caller'>): void {
  if (isNarrow(caller)) throw new AppError('forbidden', 'forbidden')
}

/**
 * The key under which work runs that this caller sets up, for all columns `run_as_key_id`. Null: no limits and no end, for the
 * master key and for admin keys without limits.
 */
export function runAsOf(caller: Pick<Caller, 'key' | 'role' | 'ownerScope'>): string | null {
  const { key, role } = caller
  if (!key || (role === 'admin' && !isNarrow(caller) && !key.expires)) return null
  return key.id
}
