import type { Actor, Caller } from '../http/caller.ts'
import { AppError } from '../platform/errors.ts'

/** Who makes a change: what they may do, and what the audit log says of them. */
export interface By {
  readonly caller: Caller
  readonly actor: Actor
}

/**
 * Throws `forbidden` for an admin key with an owner or a list of models: what serves a name here serves it for everybody,
 * and could lead such a key out of its bounds.
 */
export function refuseNarrow({ caller: { ownerScope, key } }: By): void {
  if (ownerScope !== undefined || (key && key.models.length > 0)) throw new AppError('forbidden', 'forbidden')
}
