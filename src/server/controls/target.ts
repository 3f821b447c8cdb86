import type { StopRequest } from '../../contract/controls.ts'
import type { Caller } from '../http/caller.ts'
import { isNarrow } from '../http/reach.ts'
import type { Keys } from '../keys/keys.ts'
import { AppError, invalid, notFound } from '../platform/errors.ts'

/** The scope of a kill switch. */
export interface Target {
  readonly scope: 'session' | 'agent' | 'key' | 'owner' | 'all'
  /** Empty for `all`. */
  readonly id: string
}

type Named = Omit<StopRequest, 'reason'>

/**
 * Returns the one target in a body. Throws `invalid` unless exactly one is given; `allowed` lists the fields for the
 * message.
 */
export function targetOf(body: Named, allowed: string): Target {
  const named: Target[] = []
  const add = (scope: Target['scope'], id: string | undefined) => id !== undefined && named.push({ scope, id })
  add('session', body.session_id)
  add('agent', body.agent_id)
  add('key', body.key_id)
  add('owner', body.owner)
  add('all', body.all && '')
  const [target, ...others] = named
  if (!target || others.length > 0) throw invalid(`exactly one of ${allowed} is required`)
  return target
}

/** Name in the audit log: `owner:acme`, `all`. */
export const nameOfTarget = ({ scope, id }: Target): string => (scope === 'all' ? 'all' : `${scope}:${id}`)

/**
 * Throws unless the caller may stop the key, the owner or all: `not_found` for a key the caller may not see,
 * `forbidden` for another owner and for all. An admin without limits may stop all. A key may stop itself, an admin key
 * also its descendants, and a key with an owner that owner.
 */
export async function rejectOutOfReach({ scope, id }: Target, caller: Caller, keys: Pick<Keys, 'get'>): Promise<void> {
  const isUnlimited = caller.role === 'admin' && !isNarrow(caller)
  switch (scope) {
    case 'key':
      if (caller.role !== 'admin' && caller.key?.id !== id) throw notFound('key', id)
      await keys.get(id, caller)
      return
    case 'owner':
      if (!isUnlimited && caller.ownerScope !== id) throw mayNot(`owner ${id.slice(0, 200)}`)
      return
    case 'all':
      if (!isUnlimited) throw mayNot('all')
      return
    case 'session':
    case 'agent':
      return
  }
}

const mayNot = (what: string): AppError =>
  new AppError('forbidden', `this key may not stop ${what}; name its own key or owner`)
