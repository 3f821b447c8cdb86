import { AppError, invalid } from '../../platform/errors.ts'
import type { Json } from '../../platform/json.ts'
import { editTopLevel } from '../bytes/body-edit.ts'
import type { Call } from '../core/call.ts'
import { readRequest } from '../core/request.ts'
import { isPassthrough } from '../format-adapters.ts'
import type { Gateway } from '../gateway.ts'
import type { StoredResponses } from './contents.ts'
import { inputItems } from './request.ts'
import { maxChainBytes, type ResponseRow } from './store.ts'

interface Deps {
  readonly gateway: Pick<Gateway, 'served'>
  readonly stored: Pick<StoredResponses, 'find' | 'items' | 'outputs'>
  /** `client`: contents are stored unless a request sets `store` to false. */
  readonly storePolicy: () => 'client' | 'never'
}

/** A call with what it refers to. */
interface Prepared {
  /** The call with the items that it refers to, and without the previous responses. */
  readonly own: Call
  /** The call to make. */
  readonly ready: Call
}

/** Returns the error for a response that the caller cannot access, whether or not it exists. */
export const noResponse = (id: string): AppError =>
  new AppError('not_found', `response ${id.slice(0, 200)} not found`, { fields: { code: 'response_not_found' } })

/** Loads the previous responses and the items that calls in the Responses format refer to. */
export interface Preparation {
  prepare(call: Call, previousId: string | undefined): Promise<Prepared>
}

export function createPreparation({ gateway, stored, storePolicy }: Deps): Preparation {
  const deploymentsOf = (call: Call) => gateway.served('responses', readRequest(call).model)

  /** Pins a call to the deployment that stores its previous response, and names that as the deployment does. */
  const pinned = (call: Call, { id, deployment, upstream_id: upstreamId }: ResponseRow): Call => {
    const target = deploymentsOf(call).find(served => served.deployment.id === deployment)
    if (!target || !isPassthrough('responses', target.protocol))
      throw invalid(
        `previous_response_id: ${id.slice(0, 200)} is stored at deployment ${deployment}, which does not serve this model; send the whole input`,
      )
    if (upstreamId === null) return { ...call, deployment }
    return { ...call, deployment, body: editTopLevel(call.body, { set: { previous_response_id: upstreamId } }).body }
  }

  /** Prepends a translated chain to the input, and pins the call to its deployment while that serves the model. */
  const loaded = async (call: Call, { id, deployment }: ResponseRow): Promise<Call> => {
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
    if (row) {
      rejectUnfinished(row)
      return row.is_translated ? loaded(call, row) : pinned(call, row)
    }
    if (storePolicy() === 'never')
      throw invalid(
        `previous_response_id: response ${id.slice(0, 200)} is not stored; send the whole input, or set responses.store to client in the configuration`,
      )
    throw noResponse(id)
  }

  /** Replaces references to items of stored responses by the items. Other references may be the upstream's and stay. */
  const withItems = async (call: Call): Promise<Call> => {
    if (!call.body.includes('"item_reference"')) return call
    const items = inputItems(call.body)
    const ids = [...new Set(items.map(responseReferredTo).filter(id => id !== undefined))]
    if (ids.length === 0) return call
    if (ids.length > maxReferred)
      throw invalid(`input refers to items of more than ${maxReferred} responses; send the items themselves`)
    const outputs = await stored.outputs(call.caller.principal, ids)
    const input = items.map(item => (responseReferredTo(item) && outputs.get(item['id'])) || item)
    checkSize(input)
    return { ...call, body: editTopLevel(call.body, { set: { input } }).body }
  }

  return {
    async prepare(call, previousId) {
      const own = await withItems(call)
      return { own, ready: previousId === undefined ? own : await continued(own, previousId) }
    },
  }
}

/** Responses to whose items one request may refer. */
const maxReferred = 2_000

/** Returns the id of the response with a referenced item; undefined for other items and for those of upstreams. */
function responseReferredTo({ type, id }: Json): string | undefined {
  const key = type === 'item_reference' ? /^[a-z]+_([0-9a-f]{16,64})_\d+$/.exec(String(id))?.[1] : undefined
  return key && `resp_${key}`
}

/** Throws for an input that is larger than a request may be, since it can refer to an item many times. */
function checkSize(input: readonly Json[]): void {
  const sizes = new Map([...new Set(input)].map(item => [item, Buffer.byteLength(JSON.stringify(item))]))
  if (input.reduce((bytes, item) => bytes + (sizes.get(item) ?? 0), 0) > maxChainBytes)
    throw new AppError('payload_too_large', 'input: with the referenced items it is larger than 32 MB')
}

/** Rejects a background response that has no complete answer. */
function rejectUnfinished({ id, background_status: status }: ResponseRow): void {
  if (status === null || status === 'completed' || status === 'incomplete') return
  const isRunning = status === 'queued' || status === 'in_progress'
  const next = isRunning ? 'continue it once it is completed' : 'it cannot be continued'
  throw invalid(`previous_response_id: response ${id.slice(0, 200)} is ${status}; ${next}`)
}
