import type { NewEvent } from '../../../contract/events.ts'
import type { Json } from '../../platform/json.ts'
import { failed, idle, stopped } from '../runtime.ts'
import type { Branch, CursorRun, NativeError } from './api.ts'
import { cutOff, heldBack, message, toolResult } from './events.ts'
import { errorType } from './failures.ts'
import { messageText, type Reading } from './reading.ts'

/** How far a run has come to its end. */
export interface Outcome {
  /** The status with which it ended; undefined while it goes on. */
  readonly status: string | undefined
  readonly result?: Result
  readonly branches?: readonly Branch[]
  readonly error?: NativeError | undefined
}

interface Result {
  /** The tool call that it answers; undefined for the run itself. */
  readonly callId?: string | undefined
  readonly text: string | undefined
  /** Told in place of the text when there is none. */
  readonly payload: Json
  /** Part of the stream may be missing, so the last words of the run may be in the result alone. */
  readonly mayLack?: boolean
}

const terminal: ReadonlySet<string> = new Set(['FINISHED', 'ERROR', 'CANCELLED', 'EXPIRED'])

/** True for the status, in capitals, of a run that has ended. */
export const isTerminal = (status: string): boolean => terminal.has(status)

/** The outcome of a run as Cursor tells it when asked. */
export function outcomeOf({ id, status, text, branches, error }: CursorRun, mayLack: boolean): Outcome {
  return { status, result: { text, payload: { runId: id, status }, mayLack }, branches, error }
}

/** The last events of a run: what was held back, its result, and one that ends it when it has ended. */
export function conclude(reading: Reading, outcome: Outcome, clean: (text: string) => string): NewEvent[] {
  const { status, result } = outcome
  const whole = result ? withMissing(reading, result) : reading
  const said = heldBack(whole)
  const extra = result && lacks(whole, said, result) ? [message(result.text ?? '')] : []
  const told = result ? resultEvents(reading, result, status) : []
  const isAnswered = (callId: unknown) => told.some(event => event['tool_use_id'] === callId)
  const open = status === undefined ? [] : cutOff(reading).filter(event => !isAnswered(event['tool_use_id']))
  return [...said, ...extra, ...open, ...told, ...(status === undefined ? [] : [lastEvent(reading, outcome, clean)])]
}

/** Text that broke off in the middle becomes the whole of it. */
function withMissing(reading: Reading, { text, mayLack }: Result): Reading {
  if (!mayLack || text === undefined || reading.text === undefined) return reading
  return text.startsWith(reading.text.text) ? { ...reading, text: { ...reading.text, text } } : reading
}

/** True when the text of the result was not said in the run. */
function lacks(reading: Reading, events: readonly NewEvent[], { text, callId, mayLack }: Result): boolean {
  if (text === undefined || text.trim() === '' || callId !== undefined) return false
  const messages = events.filter(({ type }) => type === 'agent.message')
  const said = squeezed(`${reading.said}${messages.map(messageText).join('')}`)
  return mayLack ? !said.includes(squeezed(text)) : said === ''
}

/** Messages are split and joined at white space, here and there differently. */
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
) {
  const git = branches.length > 0 && { git: { branches } }
  if (status === 'FINISHED') return { ...idle({ type: 'end_turn' }), ...git }
  if (status === 'CANCELLED' && isCancelled) return { ...stopped, ...git }
  if (status === 'CANCELLED') return failed('model_request_failed_error', 'the run was cancelled at Cursor')
  if (status === 'EXPIRED')
    return failed('model_request_failed_error', 'the run has expired at Cursor; send a prompt to go on')
  const words = clean(error?.message ?? error?.code ?? '')
  return failed(errorType(error?.code), `the run failed at Cursor${words === '' ? '' : `: ${words}`}`)
}
