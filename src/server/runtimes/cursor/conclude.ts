import type { NewEvent } from '../../../contract/events.ts'
import type { Json } from '../../platform/json.ts'
import { failed, idle, stopped } from '../runtime.ts'
import type { Branch, CursorRun, NativeError } from './api.ts'
import { interruptedResults, message, pendingEvents, toolResult } from './events.ts'
import { errorType } from './failures.ts'
import { messageText, type Reading } from './reading.ts'

/** End of a run, or the part of it that is known. */
export interface Outcome {
  /** Final status; undefined while the run continues. */
  readonly status: string | undefined
  readonly result?: Result
  readonly branches?: readonly Branch[]
  readonly error?: NativeError | undefined
}

interface Result {
  /** Tool call that the result belongs to; undefined for the run itself. */
  readonly callId?: string | undefined
  readonly text: string | undefined
  /** Logged when there is no text. */
  readonly payload: Json
  /** True when part of the stream may be missing, so that the last text of the run may be in the result only. */
  readonly mayBeMissing?: boolean
}

const terminal: ReadonlySet<string> = new Set(['FINISHED', 'ERROR', 'CANCELLED', 'EXPIRED'])

/** Reports whether a status, in upper case, is final. */
export const isTerminal = (status: string): boolean => terminal.has(status)

/** Returns the outcome from the run's record at Cursor. */
export function outcomeOf({ id, status, text, branches, error }: CursorRun, mayBeMissing: boolean): Outcome {
  return { status, result: { text, payload: { runId: id, status }, mayBeMissing }, branches, error }
}

/** Returns the last events of a run: pending events, its result, and the event that ends it if it has ended. */
export function conclude(reading: Reading, outcome: Outcome, clean: (text: string) => string): NewEvent[] {
  const { status, result } = outcome
  const whole = result ? withMissing(reading, result) : reading
  const pending = pendingEvents(whole)
  const extra = result && isMissing(whole, pending, result) ? [message(result.text ?? '')] : []
  const results = result ? resultEvents(reading, result, status) : []
  const isAnswered = (callId: unknown) => results.some(event => event.tool_use_id === callId)
  const open = status === undefined ? [] : interruptedResults(reading).filter(event => !isAnswered(event.tool_use_id))
  return [
    ...pending,
    ...extra,
    ...open,
    ...results,
    ...(status === undefined ? [] : [lastEvent(reading, outcome, clean)]),
  ]
}

/** Completes a truncated text from the result. */
function withMissing(reading: Reading, { text, mayBeMissing }: Result): Reading {
  if (!mayBeMissing || text === undefined || reading.text === undefined) return reading
  return text.startsWith(reading.text.text) ? { ...reading, text: { ...reading.text, text } } : reading
}

/** True when the text of the result is not in the run's messages. */
function isMissing(reading: Reading, events: readonly NewEvent[], { text, callId, mayBeMissing }: Result): boolean {
  if (text === undefined || text.trim() === '' || callId !== undefined) return false
  const messages = events.filter(({ type }) => type === 'agent.message')
  const logged = squeezed(`${reading.messagesText}${messages.map(messageText).join('')}`)
  return mayBeMissing ? !logged.includes(squeezed(text)) : logged === ''
}

/** Removes white space, at which messages and result are split differently. */
const squeezed = (text: string): string => text.replaceAll(/\s+/g, '')

function resultEvents(reading: Reading, { callId, text, payload }: Result, status: string | undefined): NewEvent[] {
  const isCall = callId !== undefined && reading.uses.get(callId) !== 'settled'
  if (!isCall && reading.hasResult) return []
  const isFailed = status !== undefined && status !== 'FINISHED'
  return [toolResult(isCall ? callId : reading.runId, text ?? payload, isFailed ? 'failed' : 'done')]
}

function lastEvent(
  { isCancelled }: Reading,
  { status, branches = [], error }: Outcome,
  clean: (text: string) => string,
): NewEvent {
  const git = branches.length > 0 && { git: { branches } }
  if (status === 'FINISHED') return { ...idle({ type: 'end_turn' }), ...git }
  if (status === 'CANCELLED' && isCancelled) return { ...stopped, ...git }
  if (status === 'CANCELLED') return failed('model_request_failed_error', 'the run was cancelled at Cursor')
  if (status === 'EXPIRED')
    return failed('model_request_failed_error', 'the run has expired at Cursor; send a prompt to continue')
  const words = clean(error?.message ?? error?.code ?? '')
  return failed(errorType(error?.code), `the run failed at Cursor${words === '' ? '' : `: ${words}`}`)
}
