import type { SentEvent } from '../../../contract/event-routes.ts'
import type { Question } from '../../a2a/questions.ts'
import { rpcCodes } from '../../http/json-rpc-error.ts'
import { type Json, nonEmptyText, recordOf } from '../../platform/json.ts'
import { RpcFailure } from '../client/json-rpc.ts'

/** Request for input of the form mode of elicitation. */
export interface InputRequest {
  readonly method: 'elicitation/create'
  readonly params: { readonly message: string; readonly requestedSchema: Json }
}

const maxShownChars = 4_000
const maxReasonChars = 10_000

const decisionSchema = {
  type: 'object',
  properties: {
    decision: { type: 'string', title: 'Decision', enum: ['approve', 'deny'] },
    reason: { type: 'string', title: 'Reason of a denial', maxLength: maxReasonChars },
  },
  required: ['decision'],
} as const

const resultSchema = {
  type: 'object',
  properties: {
    result: { type: 'string', title: 'Result of the tool' },
    is_error: { type: 'boolean', title: 'The call failed', default: false },
  },
  required: ['result'],
} as const

/** Returns the requests for input that ask the questions of a task, by their ids. */
export function inputRequestsOf(
  questions: readonly Question[],
  agentName: string,
): Readonly<Record<string, InputRequest>> {
  return Object.fromEntries(questions.map(question => [question.id, inputRequestOf(question, agentName)]))
}

function inputRequestOf({ name, input, isCustom }: Question, agentName: string): InputRequest {
  const shown = JSON.stringify(input ?? {})
  const text = shown.length > maxShownChars ? `${shown.slice(0, maxShownChars)} (shortened)` : shown
  const message = isCustom
    ? `Agent ${agentName} calls your tool ${name} with ${text}. Enter its result.`
    : `Agent ${agentName} asks for approval to call ${name} with ${text}.`
  return {
    method: 'elicitation/create',
    params: { message, requestedSchema: isCustom ? resultSchema : decisionSchema },
  }
}

/**
 * Returns the event that answers a question. A declined or dismissed request denies an approval and fails a custom tool call, because
 * a request is asked only once. Throws RpcFailure for a response that does not fit the request.
 */
export function answerOf(question: Question, response: unknown): SentEvent {
  const { action, content } = recordOf(response)
  if (action !== 'accept' && action !== 'decline' && action !== 'cancel')
    throw misfit(question, 'action must be "accept", "decline" or "cancel"')
  const why = action === 'decline' ? 'declined by the user' : 'dismissed by the user without an answer'
  const given = action === 'accept' ? recordOf(content) : undefined
  return question.isCustom ? customResult(question, given, why) : decision(question, given, why)
}

function decision(question: Question, given: Json | undefined, why: string): SentEvent {
  const base = { type: 'user.tool_confirmation', tool_use_id: question.id } as const
  if (!given) return { ...base, result: 'deny', deny_message: why }
  const { decision: word } = given
  if (word !== 'approve' && word !== 'deny') throw misfit(question, 'content.decision must be "approve" or "deny"')
  if (word === 'approve') return { ...base, result: 'allow' }
  const reason = nonEmptyText(given['reason'])
  return { ...base, result: 'deny', ...(reason !== undefined && { deny_message: reason.slice(0, maxReasonChars) }) }
}

function customResult(question: Question, given: Json | undefined, why: string): SentEvent {
  const base = { type: 'user.custom_tool_result', custom_tool_use_id: question.id } as const
  if (!given) return { ...base, content: [{ type: 'text', text: why }], is_error: true }
  const { result, is_error } = given
  if (typeof result !== 'string') throw misfit(question, 'content.result must be string')
  return { ...base, content: [{ type: 'text', text: result }], ...(is_error === true && { is_error: true }) }
}

const misfit = ({ id }: Question, problem: string): RpcFailure =>
  new RpcFailure(rpcCodes.invalidParams, `params.inputResponses.${id}.${problem}`)
