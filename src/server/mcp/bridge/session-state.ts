import { rpcCodes } from '../../http/json-rpc-error.ts'
import { AppError } from '../../platform/errors.ts'
import type { Json } from '../../platform/json.ts'
import { isRecord, recordOf, textOf } from '../../platform/json.ts'
import { Recent } from '../../platform/recent.ts'
import { RpcFailure, type RpcMessage } from '../client/json-rpc.ts'

/** What a client has set in its session, and what is in flight in it. */
export interface SessionState {
  level: string | undefined
  readonly resources: Set<string>
  /** Open requests, by the JSON text of their ids. */
  readonly inFlight: Map<string, AbortController>
  /** Questions to the client, by their ids. */
  readonly questions: Map<string, (response: RpcMessage) => void>
  /** The open stream of the session; `restart` applies a change of the subscribed resources. */
  listening: { readonly restart: () => Promise<void>; readonly end: () => void } | undefined
  isEnded: boolean
}

const maxSessions = 10_000
const maxResources = 100
const maxUriLength = 2_000

/**
 * State of bridged sessions that changes. It lives in this process; a session that another process has opened starts
 * here without it.
 */
export type SessionStates = ReturnType<typeof createSessionStates>

export function createSessionStates() {
  const states = new Recent<SessionState>(maxSessions)

  function stateOf(id: string): SessionState {
    const known = states.get(id)
    if (known) return known
    const state: SessionState = {
      level: undefined,
      resources: new Set(),
      inFlight: new Map(),
      questions: new Map(),
      listening: undefined,
      isEnded: false,
    }
    states.set(id, state)
    return state
  }

  return {
    /** Returns the state of a session. Throws `not_found` after its end. */
    of(id: string): SessionState {
      const state = stateOf(id)
      if (!state.isEnded) return state
      throw new AppError('not_found', 'session has ended; send initialize again', {
        fields: { rpc: String(rpcCodes.sessionNotFound) },
      })
    },

    /** Ends a session: its requests are cancelled and its stream ends. */
    end(id: string): void {
      const state = stateOf(id)
      state.isEnded = true
      for (const request of state.inFlight.values()) request.abort()
      state.listening?.end()
    },
  }
}

/** Changes the resources whose updates the client wants. Throws RpcFailure above the limit. */
export async function subscribe(state: SessionState, method: string, params: Json): Promise<void> {
  const uri = textOf(params['uri'])
  if (uri === '' || uri.length > maxUriLength)
    throw new RpcFailure(rpcCodes.invalidParams, `params.uri must be a text of 1 to ${maxUriLength} characters`)
  if (method === 'resources/unsubscribe') state.resources.delete(uri)
  else if (state.resources.size >= maxResources)
    throw new RpcFailure(rpcCodes.invalidParams, `the session has ${maxResources} subscriptions, its limit`)
  else state.resources.add(uri)
  await state.listening?.restart()
}

/** Takes a notification or a response of the client. */
export function takeMessage(state: SessionState, message: RpcMessage): void {
  const { method, params, id } = message
  if (method === 'notifications/cancelled') state.inFlight.get(keyOf(recordOf(params)['requestId']))?.abort()
  if (method === undefined && typeof id === 'string') state.questions.get(id)?.(message)
}

/** Key of a request id: 1 and "1" are different ids. */
export const keyOf = (id: unknown): string => JSON.stringify([id])

/** Returns the result that a client gave to a question. Throws its error, unless it means that the user gave none. */
export function resultOfQuestion(response: RpcMessage, method: string): Json {
  if (isRecord(response['result'])) return response['result']
  if (method === 'elicitation/create') return { action: 'cancel' }
  const { code, message } = recordOf(response['error'])
  throw new RpcFailure(
    typeof code === 'number' ? code : rpcCodes.internal,
    `the client did not answer ${method}: ${textOf(message).slice(0, 500) || 'no result'}`,
  )
}
