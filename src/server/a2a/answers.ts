import type { A2aMessage, A2aPart } from '../../contract/a2a-objects.ts'
import { maxCustomResultChars } from '../../contract/custom-tools.ts'
import type { SentEvent } from '../../contract/event-routes.ts'
import { invalid } from '../platform/errors.ts'
import { isRecord, type Json } from '../platform/json.ts'
import type { Question } from './questions.ts'

type AnswerEvent = Extract<SentEvent, { type: 'user.tool_confirmation' | 'user.custom_tool_result' }>

/** An answer to one question, or to all of its kind that are open. */
interface Given {
  readonly id: string | undefined
  readonly isCustom: boolean
  readonly eventFor: (id: string) => AnswerEvent
}

const maxReasonChars = 10_000

/**
 * Returns the events that answer the open questions of a task. A text answers all approvals, or the only call of a custom tool; data
 * `{decision, approval_id?, message?}` answers one approval or all, `{call_id?, result, is_error?}` one call. Throws
 * `invalid_request`.
 */
export function answersOf({ parts }: A2aMessage, questions: readonly Question[]): AnswerEvent[] {
  const given = parts.some(({ data }) => data !== undefined) ? parts.map(dataAnswer) : [textAnswer(parts, questions)]
  const byQuestion = new Map<string, AnswerEvent>()
  for (const answer of given) {
    for (const id of answeredIds(answer, questions)) {
      if (byQuestion.has(id)) throw invalid(`message.parts answer ${id} twice; answer it once`)
      byQuestion.set(id, answer.eventFor(id))
    }
  }
  return [...byQuestion.values()]
}

function answeredIds({ id, isCustom }: Given, questions: readonly Question[]): string[] {
  const open = questions.filter(question => question.isCustom === isCustom).map(question => question.id)
  const [field, what] = isCustom ? ['call_id', 'custom tool call'] : ['approval_id', 'approval']
  if (open.length === 0) throw invalid(`message.parts answer a ${what}, but the task waits for none`)
  if (id !== undefined && !open.includes(id))
    throw invalid(`${field} ${id.slice(0, 200)} is not pending; pending: ${open.join(', ')}`)
  if (id !== undefined) return [id]
  if (isCustom && open.length > 1)
    throw invalid(`message.parts must name the call by call_id, because several wait: ${open.join(', ')}`)
  return open
}

/** Returns the answer of a message without data. */
function textAnswer(parts: readonly A2aPart[], questions: readonly Question[]): Given {
  const texts = parts.map(({ text }, at) => {
    if (text === undefined)
      throw invalid(`message.parts[${at}] must be text or data: it answers a question of the task`)
    return text
  })
  const text = texts.join('\n')
  if (questions.every(({ isCustom }) => !isCustom)) return decision(text)
  if (questions.length === 1) return result(undefined, text, false)
  const open = questions.map(({ id, name }) => `${id} (${name})`).join(', ')
  throw invalid(`message.parts must be data, because the task waits for several answers: ${open}`)
}

function decision(text: string): Given {
  const [, word, reason] = /^(approve|deny)\s*(?::\s*(.*))?$/is.exec(text.trim()) ?? []
  const verdict = word?.toLowerCase()
  if (verdict === 'deny') return confirmation(undefined, 'deny', reason?.trim() || undefined)
  if (verdict === 'approve' && reason === undefined) return confirmation(undefined, 'allow', undefined)
  throw invalid(
    'message.parts[0] must be the text "approve", "deny" or "deny: <reason>", or data with "decision": the task asks for approval',
  )
}

function dataAnswer({ data }: A2aPart, at: number): Given {
  const field = `message.parts[${at}].data`
  if (!isRecord(data)) throw invalid(`${field} must be an object with "decision", or with "result"`)
  return 'result' in data || 'call_id' in data ? resultIn(data, field) : decisionIn(data, field)
}

function decisionIn({ decision: word, approval_id, message }: Json, field: string): Given {
  if (word !== 'approve' && word !== 'deny') {
    throw invalid(`${field}.decision must be "approve" or "deny"; a custom tool call is answered with "result"`)
  }
  if (approval_id !== undefined && typeof approval_id !== 'string') throw invalid(`${field}.approval_id must be string`)
  if (message !== undefined && (typeof message !== 'string' || message.length > maxReasonChars || word === 'approve')) {
    throw invalid(`${field}.message must be the reason of a denial, of at most ${maxReasonChars} characters`)
  }
  return confirmation(approval_id, word === 'approve' ? 'allow' : 'deny', message)
}

function resultIn({ call_id, result: value, is_error: isError = false }: Json, field: string): Given {
  if (call_id !== undefined && typeof call_id !== 'string') throw invalid(`${field}.call_id must be string`)
  if (value === undefined) throw invalid(`${field}.result is required: the result of the tool, a text or JSON`)
  if (typeof isError !== 'boolean') throw invalid(`${field}.is_error must be true or false`)
  return result(call_id, typeof value === 'string' ? value : JSON.stringify(value), isError)
}

const confirmation = (id: string | undefined, verdict: 'allow' | 'deny', message: string | undefined): Given => ({
  id,
  isCustom: false,
  eventFor: tool_use_id => ({
    type: 'user.tool_confirmation',
    tool_use_id,
    result: verdict,
    ...(message !== undefined && { deny_message: message }),
  }),
})

function result(id: string | undefined, text: string, isError: boolean): Given {
  if (text.length > maxCustomResultChars)
    throw invalid(`the result of a tool must have at most ${maxCustomResultChars} characters; send a shorter one`)
  return {
    id,
    isCustom: true,
    eventFor: custom_tool_use_id => ({
      type: 'user.custom_tool_result',
      custom_tool_use_id,
      content: text === '' ? [] : [{ type: 'text', text }],
      ...(isError && { is_error: true }),
    }),
  }
}
