import { rpcCodes } from '../../http/json-rpc-error.ts'
import { AppError } from '../../platform/errors.ts'
import type { Json } from '../../platform/json.ts'
import { isRecord, recordOf, textOf } from '../../platform/json.ts'
import { Recent } from '../../platform/recent.ts'
import { RpcFailure, type RpcMessage } from '../client/json-rpc.ts'
import type { SessionMessages } from './session-messages.ts'

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
 * State of bridged sessions that changes. It lives in this process. What a client sends to one process reaches the
 * others as `SessionMessages`.
 */
export type SessionStates = ReturnType<typeof createSessionStates>

export function createSessionStates({ messages }: { readonly messages: SessionMessages }) {
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

  /** Takes what a client has sent to another process. */
  function take({ session, kind, message, level, method, uri }: Json): void {
    if (typeof session !== 'string') return
    const state = stateOf(session)
    if (kind === 'message') takeMessage(state, recordOf(message))
    if (kind === 'level') state.level = textOf(level)
    if (kind === 'end') end(state)
    // A stream that cannot be opened again ends, and its client opens it again.
    if (kind === 'resource') subscribe(state, method, { uri }).catch(() => state.listening?.end())
  }
  messages.on(take)

  function end(state: SessionState): void {
    state.isEnded = true
    for (const request of state.inFlight.values()) request.abort()
    state.listening?.end()
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
    end(session: string): void {
      end(stateOf(session))
      messages.send({ session, kind: 'end' })
    },

    /** Passes a notification or response of the client to what waits for it, here or in another process. */
    pass(session: string, message: RpcMessage): void {
      const isForCall = message['method'] === undefined || message['method'] === 'notifications/cancelled'
      if (!isForCall || takeMessage(stateOf(session), message)) return
      messages.send({ session, kind: 'message', message })
    },

    /** Sets the level of log messages. */
    setLevel(session: string, level: string): void {
      stateOf(session).level = level
      messages.send({ session, kind: 'level', level })
    },

    /** Subscribes to a resource, or unsubscribes. Throws RpcFailure. */
    async subscribe(session: string, method: string, params: Json): Promise<void> {
      const state = stateOf(session)
      if (method === 'resources/subscribe') checkSubscription(state, params)
      await subscribe(state, method, params)
      messages.send({ session, kind: 'resource', method, uri: params['uri'] })
    },
  }
}

/** Throws RpcFailure for a subscription that the session cannot have. */
function checkSubscription(state: SessionState, { uri }: Json): void {
  if (typeof uri !== 'string' || uri === '' || uri.length > maxUriLength)
    throw new RpcFailure(rpcCodes.invalidParams, `params.uri must be a text of 1 to ${maxUriLength} characters`)
  if (state.resources.size >= maxResources && !state.resources.has(uri))
    throw new RpcFailure(rpcCodes.invalidParams, `the session has ${maxResources} subscriptions, its limit`)
}

/** Changes the resources whose updates the client wants, and resolves when the stream of the session has them. */
async function subscribe(state: SessionState, method: unknown, { uri }: Json): Promise<void> {
  if (method === 'resources/unsubscribe') state.resources.delete(textOf(uri))
  else state.resources.add(textOf(uri))
  await state.listening?.restart()
}

/** Takes a notification or a response of the client. Returns false if nothing here waits for it. */
function takeMessage(state: SessionState, message: RpcMessage): boolean {
  const { method, params, id } = message
  if (method === undefined) {
    const answer = state.questions.get(textOf(id))
    answer?.(message)
    return answer !== undefined
  }
  const request =
    method === 'notifications/cancelled' ? state.inFlight.get(keyOf(recordOf(params)['requestId'])) : undefined
  request?.abort()
  return request !== undefined
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
