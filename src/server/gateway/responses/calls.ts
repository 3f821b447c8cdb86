import { AppError, invalid } from '../../platform/errors.ts'
import { type Json, recordsOf } from '../../platform/json.ts'
import { editTopLevel } from '../bytes/body-edit.ts'
import type { Call, Outcome, Sink } from '../core/call.ts'
import { readRequest } from '../core/request.ts'
import { isPassthrough } from '../format-adapters.ts'
import type { Gateway } from '../gateway.ts'
import type { StoredResponses } from './contents.ts'
import { recordingSink } from './recording.ts'
import { inputItems, readStateRequest } from './request.ts'

interface Deps {
  readonly gateway: Pick<Gateway, 'call' | 'served'>
  readonly stored: StoredResponses
  /** `client`: contents are stored unless a request sets `store` to false. */
  readonly storePolicy: () => 'client' | 'never'
}

/** Returns the response id that the gateway gives to a translated answer. */
const ownIdOf = (requestId: string): string => `resp_${requestId.slice(requestId.indexOf('_') + 1)}`

/** Returns the error for a response that the caller cannot access, whether or not it exists. */
export const noResponse = (id: string): AppError =>
  new AppError('not_found', `response ${id.slice(0, 200)} not found`, { fields: { code: 'response_not_found' } })

/**
 * Model calls, counts and compactions in the Responses format. Loads the previous responses of a call and stores its
 * response.
 */
export function createResponseCalls({ gateway, stored, storePolicy }: Deps): Pick<Gateway, 'call'> {
  const deploymentsOf = (call: Call) => gateway.served('responses', readRequest(call).model)

  /** Pins a call to the deployment that stores its previous response. */
  const pinned = (call: Call, previousId: string, deployment: string): Call => {
    const target = deploymentsOf(call).find(({ deployment: { id } }) => id === deployment)
    if (target && isPassthrough('responses', target.protocol)) return { ...call, deployment }
    throw invalid(
      `previous_response_id: ${previousId.slice(0, 200)} is stored at deployment ${deployment}, which does not serve this model; send the whole input`,
    )
  }

  /** Prepends a translated chain to the input, and pins the call to its deployment while that serves the model. */
  const loaded = async (call: Call, id: string, deployment: string): Promise<Call> => {
    const items = await stored.items({ principal: call.caller.principal, id })
    if (!items)
      throw invalid(`previous_response_id: an earlier response of this chain was deleted; send the whole input`)
    const input = [...items, ...inputItems(call.body)]
    const { body } = editTopLevel(call.body, { set: { input }, remove: ['previous_response_id'] })
    const target = deploymentsOf(call).find(served => served.deployment.id === deployment)
    const isServed = target && !isPassthrough('responses', target.protocol)
    return { ...call, body, ...(isServed && { deployment }) }
  }

  const continued = async (call: Call, id: string): Promise<Call> => {
    const row = await stored.find({ principal: call.caller.principal, id })
    if (row) return row.is_translated ? loaded(call, id, row.deployment) : pinned(call, id, row.deployment)
    if (storePolicy() === 'never')
      throw invalid(
        `previous_response_id: response ${id.slice(0, 200)} is not stored; send the whole input, or set responses.store to client in the configuration`,
      )
    throw noResponse(id)
  }

  /** Replaces references to items of stored responses by the items. Other references may be the upstream's and stay. */
  const withItems = async (call: Call): Promise<Call> => {
    if (!call.body.includes('"item_reference"')) return call
    const input = await Promise.all(inputItems(call.body).map(item => itemFor(item, call.caller.principal)))
    return { ...call, body: editTopLevel(call.body, { set: { input } }).body }
  }

  const itemFor = async (item: Json, principal: string): Promise<Json> => {
    const { type, id } = item
    const key = type === 'item_reference' ? /^[a-z]+_([0-9a-f]{16,64})_\d+$/.exec(String(id))?.[1] : undefined
    if (key === undefined) return item
    const content = await stored.content({ principal, id: `resp_${key}` })
    return recordsOf(content?.response['output']).find(output => output['id'] === id) ?? item
  }

  return {
    async call(given: Call, sink: Sink): Promise<Outcome> {
      const state = readStateRequest(given.body)
      if (!state) return gateway.call(given, sink)
      const { previousId } = state
      const own = await withItems(given)
      const ready = previousId === undefined ? own : await continued(own, previousId)
      if (given.kind !== 'responses') return gateway.call(ready, sink)
      if (!state.isStored)
        return gateway.call({ ...ready, chain: { previousId, isStored: false, isRetained: false } }, sink)

      const { principal } = given.caller
      const previous_id = previousId ?? null
      const isRetained = storePolicy() === 'client'
      const recording = recordingSink({
        sink,
        ownId: ownIdOf(given.requestId),
        onId: (id, deployment) =>
          stored.save({ principal, id, deployment, previous_id, is_translated: false }, undefined),
        onAnswer(response, deployment) {
          if (!isRetained) return
          const id = String(response['id'])
          stored.save(
            { principal, id, deployment, previous_id, is_translated: true },
            { input: inputItems(own.body), response },
          )
        },
      })
      return gateway.call({ ...ready, chain: { previousId, isStored: true, isRetained } }, recording)
    },
  }
}
