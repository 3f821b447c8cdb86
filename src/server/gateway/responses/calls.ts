import type { Call, Outcome, Sink } from '../core/call.ts'
import type { Gateway } from '../gateway.ts'
import type { StoredResponses } from './contents.ts'
import type { Preparation } from './preparation.ts'
import { recordingSink } from './recording.ts'
import { inputItems, readStateRequest, type StateRequest } from './request.ts'

interface Deps {
  readonly gateway: Pick<Gateway, 'call'>
  readonly stored: Pick<StoredResponses, 'save'>
  readonly preparation: Preparation
  /** `client`: contents are stored unless a request sets `store` to false. */
  readonly storePolicy: () => 'client' | 'never'
  /** Starts a background response and answers with it. */
  readonly startBackground: (call: Call, state: StateRequest, sink: Sink) => Promise<Outcome>
}

/** Returns the response id that the gateway gives to a translated answer, or to a background response. */
export const ownIdOf = (requestId: string): string => `resp_${requestId.slice(requestId.indexOf('_') + 1)}`

/**
 * Model calls, counts and compactions in the Responses format. Loads the previous responses of a call and stores its
 * response.
 */
export function createResponseCalls(deps: Deps): Pick<Gateway, 'call'> {
  const { gateway, stored, preparation, storePolicy, startBackground } = deps
  return {
    async call(given: Call, sink: Sink): Promise<Outcome> {
      const state = readStateRequest(given.body)
      if (!state) return gateway.call(given, sink)
      if (state.isBackground && given.kind === 'responses') return startBackground(given, state, sink)
      const { previousId } = state
      const { own, ready } = await preparation.prepare(given, previousId)
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
