import { randomUUID } from 'node:crypto'
import { rpcCodes } from '../../http/json-rpc-error.ts'
import { AppError } from '../../platform/errors.ts'
import { type Json, recordOf, textOf } from '../../platform/json.ts'
import { RpcFailure, type RpcMessage } from '../client/json-rpc.ts'
import { canAnswer, type ServerRequest } from './capabilities.ts'
import type { ClientReply } from './client-reply.ts'
import type { BridgedSession } from './legacy-session.ts'
import { legacyRequestOf } from './messages.ts'
import type { BridgeRequest } from './request.ts'
import { resultOfQuestion, type SessionState } from './session-state.ts'
import { questionMs } from './silence.ts'

interface Asking {
  readonly request: BridgeRequest
  readonly session: BridgedSession
  readonly state: SessionState
  readonly reply: ClientReply
}

const maxQuestions = 20

/**
 * Asks a legacy client what a modern server wants to know, each as a request on the stream of the call, and returns
 * the answers as `inputResponses`. Throws RpcFailure for a question that the client cannot answer.
 */
export async function requestInput(inputRequests: unknown, asking: Asking): Promise<Json> {
  const entries = Object.entries(recordOf(inputRequests)).map(([key, value]) => {
    const question = { method: textOf(recordOf(value)['method']), params: recordOf(recordOf(value)['params']) }
    return [key, question] as const
  })
  rejectUnanswerable(
    entries.map(([, question]) => question),
    asking,
  )
  const answers = entries.map(async ([key, question]) => [key, await ask(legacyRequestOf(question), asking)] as const)
  return Object.fromEntries(await Promise.all(answers))
}

function rejectUnanswerable(questions: readonly ServerRequest[], { request, session, reply }: Asking): void {
  const name = `MCP server ${request.server.server_name}`
  if (questions.length > maxQuestions)
    throw new RpcFailure(rpcCodes.internal, `${name} asks for more than ${maxQuestions} inputs at once`)
  const bad = questions.find(question => !canAnswer(session.capabilities, question))
  if (bad)
    throw new RpcFailure(
      rpcCodes.internal,
      `${name} asks for ${bad.method.slice(0, 100)}, which this client has no capability for`,
    )
  if (questions.length > 0 && !reply.readsEvents)
    throw new RpcFailure(
      rpcCodes.internal,
      `${name} asks the client for input, which needs text/event-stream in the header accept`,
    )
}

async function ask({ method, params }: ServerRequest, { request, state, reply }: Asking): Promise<Json> {
  const id = `switchyard-${randomUUID()}`
  const { promise, resolve, reject } = Promise.withResolvers<RpcMessage>()
  const timer = setTimeout(
    () => reject(new AppError('upstream_timeout', `the client did not answer ${method} in time`)),
    questionMs,
  )
  const leave = () => reject(new AppError('upstream_unreachable', 'the client cancelled the call'))
  request.signal.addEventListener('abort', leave, { once: true })
  state.questions.set(id, resolve)
  try {
    reply.send({ jsonrpc: '2.0', id, method, ...(Object.keys(params).length > 0 && { params }) })
    const response = await promise
    return resultOfQuestion(response, method)
  } finally {
    clearTimeout(timer)
    request.signal.removeEventListener('abort', leave)
    state.questions.delete(id)
  }
}
