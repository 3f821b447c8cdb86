import { AppError } from '../platform/errors.ts'
import type { By } from './caller.ts'

/**
 * Throws `forbidden` for an admin key with an owner or a list of models: what serves a name here serves it for everybody,
 * and could lead such a key out of its bounds.
 */
export function refuseNarrow({ caller: { ownerScope, key } }: By): void {
  if (ownerScope !== undefined || (key && key.models.length > 0)) throw new AppError('forbidden', 'forbidden')
}
