import type { BudgetReached, NewEvent } from '../../../contract/events.ts'
import { newId } from '../../platform/ids.ts'
import { pause } from '../../platform/timers.ts'
import { keyIsGoneReason, pausedBy } from '../endings.ts'
import { failed, type RunPrompt } from '../runtime.ts'
import type { Answer } from './answer.ts'
import { estimatedUsage, interruptedEvents } from './answer-events.ts'
import { callModel, type ModelFailure, type ModelResult } from './model-call.ts'
import { waitAfter } from './patience.ts'
import type { Events, Run } from './run.ts'

/** How often a wait looks whether the process wants to hand the session over. */
const lookMs = 500

/** What came of one request. */
export interface Requested {
  readonly result: ModelResult
  /** Whose request it was. */
  readonly prompt: RunPrompt
  /** Event ids of the text blocks that were shown as they came; undefined for an answer that is not for readers. */
  readonly ids: ReadonlyMap<number, string> | undefined
  readonly body: Readonly<Record<string, unknown>>
}

/** How a request ended that was made again while its failures might pass. */
export type Asked =
  | { readonly answer: Answer; readonly ids: ReadonlyMap<number, string>; readonly startId: string }
  /** The model's window is too small for the request. The log has the end of the request. */
  | { readonly tooLong: ModelFailure; readonly prompt: RunPrompt }

/**
 * Makes a request, again while its failures may pass. `make` announces it under the id that it is given, and answers undefined
 * when the run has ended before. Undefined when the run has ended, or has to be handed over.
 */
export async function* untilAnswered(
  run: Run,
  make: (startId: string) => AsyncGenerator<Events, Requested | undefined>,
): AsyncGenerator<Events, Asked | undefined> {
  const before = run.conversation.failedTries
  const begunMs = performance.now() - (before ? Math.max(0, Date.now() - before.since) : 0)
  let waitedMs = 0
  for (let count = (before?.count ?? 0) + 1; ; count++) {
    const startId = newId('evt')
    const requested = yield* make(startId)
    if (!requested) return undefined
    const ending = endingOf(run, startId, requested)
    if ('events' in ending) {
      if (ending.events.length > 0) yield ending.events
      return ending.asked
    }
    const { failure } = ending
    const waitMs = waitAfter(failure, { count, waitedMs, elapsedMs: performance.now() - begunMs }, Math.random())
    const isLast = waitMs === undefined
    const told = isLast ? lastFailure(failure, count) : retrying(failure, { attempt: count, waitMs })
    yield [requestEnd(startId, { is_error: true }), told]
    if (isLast || !(await waited(run, waitMs))) return undefined
    waitedMs += waitMs
  }
}

/** The end of a request, and what it means for the run; or the failure after which it may be made again. */
type Ending = { readonly events: Events; readonly asked?: Asked } | { readonly failure: ModelFailure }

function endingOf(run: Run, startId: string, requested: Requested): Ending {
  const { result, ids = new Map(), prompt } = requested
  if (run.context.signal.aborted || 'cutShort' in result) return { events: cutShort(run, startId, requested) }
  if ('answer' in result) return { events: [], asked: { answer: result.answer, ids, startId } }
  if ('budget' in result) return { events: stoppedBy(run, startId, result) }
  const { failure } = result
  if (!failure.isTooLong) return { failure }
  return { events: [requestEnd(startId, { is_error: true })], asked: { tooLong: failure, prompt } }
}

interface PaidCall {
  readonly prompt: RunPrompt
  readonly body: Requested['body']
  readonly onText: (index: number, text: string) => void
}

/** Calls the model on behalf of whoever queued the prompt. */
export async function paidCall(run: Run, { prompt, body, onText }: PaidCall): Promise<Requested['result']> {
  const { context, session, deps } = run
  const payer = await context.payer(prompt)
  if (!payer) return { failure: { ...keyIsGoneReason, isPassing: false } }
  const { runId, signal } = context
  return callModel(deps.gateway, { session, prompt, runId, payer, body, signal, onText })
}

/** The end of a model request in the log. */
export const requestEnd = (startId: string, fields: { is_error?: true; model_usage?: object }): NewEvent => ({
  type: 'span.model_request_end',
  model_request_start_id: startId,
  is_error: fields.is_error ?? null,
  model_usage: fields.model_usage ?? null,
})

/** The tokens of the session, with those of one more request. */
export const usageEvent = ({ conversation }: Pick<Run, 'conversation'>, usage?: unknown): NewEvent => ({
  type: 'session.usage',
  usage: conversation.usageWith(usage),
})

function stoppedBy(
  run: Run,
  startId: string,
  stop: { readonly budget: BudgetReached; readonly message: string },
): Events {
  const { budget: reached, message } = stop
  return [requestEnd(startId, { is_error: true }), usageEvent(run), pausedBy({ reached, message })]
}

/**
 * The end of a request that was stopped. What readers saw of its answer stays, unless the session goes on elsewhere: then
 * its next owner makes the request again.
 */
function cutShort(run: Run, startId: string, { result, ids, body }: Requested): Events {
  if (!run.context.isStopped() || !('cutShort' in result)) return [requestEnd(startId, { is_error: true })]
  const model_usage = estimatedUsage(result.cutShort, result.usage, body)
  return [
    ...(ids ? interruptedEvents(result.cutShort, ids) : []),
    { ...requestEnd(startId, { model_usage }), interrupted: true, estimated: true },
    usageEvent(run, model_usage),
  ]
}

/** Shorter waits cost less than another owner's look at the log. */
const shortMs = 5_000

/** Waits; false when the run was put aside or stopped, or must be handed over, before the time was up. */
async function waited({ context, deps: { wait = pause } }: Run, waitMs: number): Promise<boolean> {
  if (context.putAside && waitMs >= shortMs && !context.signal.aborted) {
    await context.putAside(waitMs)
    return false
  }
  const mayGoOn = () => !context.signal.aborted && !context.isDraining()
  for (let leftMs = waitMs; leftMs > 0 && mayGoOn(); leftMs -= lookMs)
    await wait(Math.min(leftMs, lookMs), context.signal)
  return mayGoOn()
}

interface Wait {
  /** The try that has just failed, from 1. */
  readonly attempt: number
  readonly waitMs: number
}

function retrying({ type, message }: ModelFailure, { attempt, waitMs }: Wait): NewEvent {
  const next_at = new Date(Date.now() + waitMs).toISOString()
  const text = `${message}; next try in ${Math.ceil(waitMs / 1000)} s`
  return { type: 'session.error', error: { type, message: text, retry_status: { type: 'retrying', attempt, next_at } } }
}

function lastFailure({ type, message, isPassing }: ModelFailure, tries: number): NewEvent {
  if (!isPassing) return failed(type, message)
  const text = `${message}; given up after ${tries} tries`
  return { type: 'session.error', error: { type, message: text, retry_status: { type: 'exhausted' } } }
}
