import type { Reservation } from '../../budgets/budgets.ts'
import { AppError } from '../../platform/errors.ts'
import { jsonOr } from '../../platform/json.ts'
import { keysOf, ownMembers } from '../bytes/json-members.ts'
import { isPassthrough } from '../format-adapters.ts'
import type { Call, ParsedRequest } from './call.ts'
import { type Incoming, possibleTargetsOf } from './call-reservations.ts'
import { otherModelFields } from './request-checks.ts'

const keys = keysOf(otherModelFields)

/** Providers that route among models of many vendors, or that may be such a gateway. */
const routing: ReadonlySet<string> = new Set(['openrouter', 'openai-compatible'])

/**
 * Returns the field that would let the provider choose another model, where the key has a list of models or a budget
 * limits the call: neither the list nor the price of the reservation would apply to that model.
 */
export function otherModelsIn(
  incoming: Incoming,
  reservation: Pick<Reservation, 'isBudgeted'> | undefined,
): string | undefined {
  const { call, parsed } = incoming
  const hasList = call.caller.key !== undefined && call.caller.key.models.length > 0
  if (!hasList && !reservation?.isBudgeted) return undefined
  const isRouted = possibleTargetsOf(incoming).some(
    ({ deployment, protocol }) => routing.has(deployment.provider) && isPassthrough(call.kind, protocol),
  )
  return isRouted ? fieldIn(call, parsed) : undefined
}

/** Rejects a request with such a field. */
export function rejectOtherModels(...given: Parameters<typeof otherModelsIn>): void {
  const field = otherModelsIn(...given)
  if (field === undefined) return
  throw new AppError(
    'forbidden',
    `${field} names models of the provider, which a key with models or a budget may not choose; use the header x-switchyard-fallbacks`,
  )
}

function fieldIn({ body }: Call, { members }: ParsedRequest): string | undefined {
  const found = members?.names.includes('models') ? members : ownMembers(body, keys)
  return otherModelFields.find(name => {
    const span = found?.values[found.names.indexOf(name)]
    return span && (found.duplicates.includes(name) || !isEmpty(body.toString('utf8', span.start, span.end)))
  })
}

function isEmpty(text: string): boolean {
  const value = jsonOr(text, undefined)
  return value === null || (Array.isArray(value) && value.length === 0)
}
