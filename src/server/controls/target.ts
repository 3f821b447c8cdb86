import type { StopRequest } from '../../contract/controls.ts'
import type { Caller } from '../http/caller.ts'
import { isNarrow } from '../http/reach.ts'
import type { Keys } from '../keys/keys.ts'
import { AppError, invalid, notFound } from '../platform/errors.ts'

/** What a kill switch is for. */
export interface Target {
  readonly scope: 'session' | 'agent' | 'key' | 'owner' | 'all'
  /** Empty for `all`. */
  readonly id: string
}

type Named = Omit<StopRequest, 'reason'>

/** The one thing that a body names. Throws `invalid` for none and for several; `allowed` are the names of its fields. */
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

/** As the audit log names it: `owner:acme`, `all`. */
export const nameOfTarget = ({ scope, id }: Target): string => (scope === 'all' ? 'all' : `${scope}:${id}`)

/**
 * Throws unless the key, the owner or everybody is the caller's to stop: `not found` for a key out of reach, `forbidden` for another owner
 * and for everybody. A caller without limits may stop all, a key itself, an admin key its descendants, and a key with an owner that owner.
 */
export async function refuseOutOfReach({ scope, id }: Target, caller: Caller, keys: Pick<Keys, 'get'>): Promise<void> {
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
  new AppError('forbidden', `forbidden: this key may not stop ${what}; name what is its own`)
