import { rpcCodes } from '../../http/json-rpc-error.ts'
import type { AppError } from '../../platform/errors.ts'
import { isRecord, type Json, recordOf, textOf } from '../../platform/json.ts'
import type { RpcMessage } from '../client/json-rpc.ts'
import type { RpcOutcome } from '../client/legacy.ts'
import type { RegisteredServer } from '../registry/server.ts'
import { canAnswer, type ServerRequest } from './capabilities.ts'
import type { AcquiredSession } from './legacy-pool.ts'
import { askingMethods, inputRequestOf } from './messages.ts'
import { watchSilence } from './silence.ts'

/** How far a call has come: its result, or questions that the client must answer first. */
export type Step =
  | { readonly kind: 'result'; readonly result: Json }
  | { readonly kind: 'questions'; readonly questions: Readonly<Record<string, ServerRequest>> }

interface Question {
  readonly request: ServerRequest
  readonly answer: (outcome: RpcOutcome) => void
}

/** A request at a legacy server that can outlive the requests of its modern client, which ask and answer in turns. */
export type OpenCall = ReturnType<typeof startCall>

interface Start {
  readonly server: RegisteredServer
  readonly acquired: AcquiredSession
  readonly capabilities: Json
  readonly method: string
  readonly params: Json
  /** What `params` has for progress. */
  readonly progressToken: string
}

const maxQuestions = 20
/** Notifications that are kept while the client answers questions. */
const maxKept = 100
const maxKeptLength = 10_000

/** Sends a request in a session, which it releases at its end. */
export function startCall({ server, acquired, capabilities, method, params, progressToken }: Start) {
  const { session, release } = acquired
  const cancelled = new AbortController()
  const silence = watchSilence(server)
  const questions = new Map<string, Question>()
  let asked = 0
  let isDone = false
  let onMessage: ((message: RpcMessage) => void) | undefined
  let kept: RpcMessage[] = []
  let wake: () => void = () => undefined

  function ask(message: RpcMessage): Promise<RpcOutcome> {
    const request = inputRequestOf(message)
    // Only these requests may have the result `input_required`.
    const isAllowed = askingMethods.has(method) && canAnswer(capabilities, request)
    const problem = !isAllowed
      ? `is not supported by the client during ${method}`
      : questions.size >= maxQuestions
        ? `is too much: the client has ${maxQuestions} open questions`
        : undefined
    if (problem !== undefined)
      return Promise.resolve({
        error: { code: rpcCodes.unknownMethod, message: `${request.method.slice(0, 100)} ${problem}` },
      })
    silence.stop()
    return new Promise(answer => {
      questions.set(`question-${++asked}`, { request, answer })
      wake()
    })
  }

  const take = (message: RpcMessage): void => {
    if (message['id'] !== undefined) return
    if (onMessage) onMessage(message)
    // Between two requests of the client; the next one gets it.
    else if (JSON.stringify(message).length <= maxKeptLength) kept = [...kept, message].slice(-maxKept)
  }
  session.user = { onMessage: take, onRequest: ask }
  const outcome = session
    .request({
      method,
      params,
      signal: AbortSignal.any([cancelled.signal, silence.signal]),
      onMessage: take,
      onRequest: ask,
      onBytes: () => {
        if (questions.size === 0) silence.heard()
      },
    })
    .then(
      result => {
        finish('usable')
        return { kind: 'result' as const, result }
      },
      (error: unknown) => {
        // A cancelled or broken call can leave messages behind that the next request would get.
        finish('broken')
        throw error
      },
    )
  // Its failure is the answer to the next request of the client, if there is one.
  outcome.catch(() => undefined)

  function finish(state: 'usable' | 'broken'): void {
    silence.stop()
    isDone = true
    for (const { answer } of questions.values()) answer(gone)
    questions.clear()
    release(state)
  }

  return {
    /** Identity of the server. */
    serverInfo: session.initialized['serverInfo'],

    progressToken,

    /** Whether `next` and `answer` belong to the same request as before. */
    isSame: (other: { readonly method: string; readonly params: Json }): boolean =>
      other.method === method &&
      textOf(other.params['name']) === textOf(params['name']) &&
      textOf(other.params['uri']) === textOf(params['uri']) &&
      JSON.stringify(recordOf(other.params['arguments'])) === JSON.stringify(recordOf(params['arguments'])),

    /** Waits for the result, or for questions. Notifications go to `listener` until then, those since the last wait first. */
    async next(listener: (message: RpcMessage) => void): Promise<Step> {
      onMessage = listener
      const missed = kept
      kept = []
      for (const message of missed) listener(message)
      const questioned = new Promise<void>(resolve => {
        wake = resolve
        if (questions.size > 0) resolve()
      })
      try {
        // Questions that arrive together are asked together.
        const step = await Promise.race([
          outcome,
          questioned.then(() => new Promise(setImmediate)).then(() => undefined),
        ])
        if (step) return step
        return {
          kind: 'questions',
          questions: Object.fromEntries([...questions].map(([key, { request }]) => [key, request])),
        }
      } finally {
        onMessage = undefined
      }
    },

    /** Passes answers of the client to the server; other keys are ignored. */
    answer(responses: Json): void {
      for (const [key, { answer }] of questions) {
        const result = responses[key]
        if (!isRecord(result)) continue
        questions.delete(key)
        answer({ result })
      }
      if (questions.size === 0 && !isDone) silence.heard()
    },

    /** Cancels the call at the server. */
    cancel: (reason: AppError): void => cancelled.abort(reason),
  }
}

const gone: RpcOutcome = { error: { code: rpcCodes.internal, message: 'the call has ended' } }
