import type { BudgetReached, NewEvent, NewEventOf } from '../../../contract/events.ts'
import { newId } from '../../platform/ids.ts'
import { pause } from '../../platform/timers.ts'
import { pausedByBudget } from '../endings.ts'
import { failed, type RunPrompt, unusableKeyFailure } from '../runtime.ts'
import type { Answer } from './answer.ts'
import { estimatedUsage, interruptedEvents, type ModelUsage } from './answer-events.ts'
import { retryDelay } from './backoff.ts'
import { callModel, type ModelFailure, type ModelResult } from './model-call.ts'
import type { Events, Run } from './run.ts'

/** How often a wait checks whether the session must be handed over. */
const pollMs = 500

/** Result of one request. */
export interface Requested {
  readonly result: ModelResult
  /** The prompt that the request was made for. */
  readonly prompt: RunPrompt
  /** Event ids of the text blocks that were previewed; undefined for an answer that readers do not see. */
  readonly ids: ReadonlyMap<number, string> | undefined
  readonly body: Readonly<Record<string, unknown>>
}

/** Outcome of a request with its retries. */
export type RequestOutcome =
  | { readonly answer: Answer; readonly ids: ReadonlyMap<number, string>; readonly startId: string }
  /** The request exceeds the model's context window. Its end is in the log. */
  | { readonly tooLong: ModelFailure; readonly prompt: RunPrompt }

/**
 * Makes a request, and retries it after temporary failures. `make` logs its start under the given id, and returns
 * undefined when the run has ended first. Returns undefined when the run has ended or must be handed over.
 */
export async function* requestWithRetries(
  run: Run,
  make: (startId: string) => AsyncGenerator<Events, Requested | undefined>,
): AsyncGenerator<Events, RequestOutcome | undefined> {
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
      return ending.outcome
    }
    const { failure } = ending
    const waitMs = retryDelay(failure, { count, waitedMs, elapsedMs: performance.now() - begunMs }, Math.random())
    const isLast = waitMs === undefined
    const event = isLast ? lastFailure(failure, count) : retrying(failure, count, waitMs)
    yield [requestEnd(startId, { is_error: true }), event]
    if (isLast || !(await waited(run, waitMs))) return undefined
    waitedMs += waitMs
  }
}

/** Last events and outcome of a request, or the failure after which it may be retried. */
type Ending = { readonly events: Events; readonly outcome?: RequestOutcome } | { readonly failure: ModelFailure }

function endingOf(run: Run, startId: string, requested: Requested): Ending {
  const { result, ids = new Map(), prompt } = requested
  if (run.context.signal.aborted || 'partial' in result) return { events: interruptedEnd(run, startId, requested) }
  if ('answer' in result) return { events: [], outcome: { answer: result.answer, ids, startId } }
  if ('budget' in result) return { events: stoppedBy(run, startId, result) }
  const { failure } = result
  if (!failure.isTooLong) return { failure }
  return { events: [requestEnd(startId, { is_error: true })], outcome: { tooLong: failure, prompt } }
}

interface PaidCall {
  readonly prompt: RunPrompt
  readonly body: Requested['body']
  readonly onText: (index: number, text: string) => void
}

/** Calls the model on behalf of the user who queued the prompt. */
export async function paidCall(run: Run, { prompt, body, onText }: PaidCall): Promise<Requested['result']> {
  const { context, session, deps } = run
  const payer = await context.payer(prompt)
  if (!payer) return { failure: { ...unusableKeyFailure, isPassing: false } }
  const { runId, signal } = context
  return callModel(deps.gateway, { session, prompt, runId, payer, body, signal, onText })
}

/** Event of the end of a model request. */
export const requestEnd = (
  startId: string,
  fields: { is_error?: true; model_usage?: ModelUsage },
): NewEventOf<'span.model_request_end'> => ({
  type: 'span.model_request_end',
  model_request_start_id: startId,
  is_error: fields.is_error ?? null,
  model_usage: fields.model_usage ?? null,
})

/** Event with the tokens of the session, plus those of one more request. */
export const usageEvent = ({ conversation }: Pick<Run, 'conversation'>, usage?: ModelUsage): NewEvent => ({
  type: 'session.usage',
  usage: conversation.usageWith(usage),
})

function stoppedBy(
  run: Run,
  startId: string,
  stop: { readonly budget: BudgetReached; readonly message: string },
): Events {
  const { budget: reached, message } = stop
  return [requestEnd(startId, { is_error: true }), usageEvent(run), pausedByBudget({ reached, message })]
}

/**
 * Returns the last events of an interrupted request. The text that readers saw is stored, unless another process takes
 * the session over: that process repeats the request.
 */
function interruptedEnd(run: Run, startId: string, { result, ids, body }: Requested): Events {
  if (!run.context.isStopped() || !('partial' in result)) return [requestEnd(startId, { is_error: true })]
  const model_usage = estimatedUsage(result.partial, result.usage, body)
  return [
    ...(ids ? interruptedEvents(result.partial, ids) : []),
    { ...requestEnd(startId, { model_usage }), interrupted: true, estimated: true },
    usageEvent(run, model_usage),
  ]
}

/** Shorter waits cost less than reading the log again. */
const minPostponeMs = 5_000

/** Waits; returns false when the prompt was postponed, or the run was stopped or must be handed over. */
async function waited({ context, deps: { wait = pause } }: Run, waitMs: number): Promise<boolean> {
  if (context.postpone && waitMs >= minPostponeMs && !context.signal.aborted) {
    await context.postpone(waitMs)
    return false
  }
  const mayContinue = () => !context.signal.aborted && !context.isDraining()
  for (let leftMs = waitMs; leftMs > 0 && mayContinue(); leftMs -= pollMs)
    await wait(Math.min(leftMs, pollMs), context.signal)
  return mayContinue()
}

/** `attempt` is the number of the failed try, from 1. */
function retrying({ type, message }: ModelFailure, attempt: number, waitMs: number): NewEvent {
  const next_at = new Date(Date.now() + waitMs).toISOString()
  const text = `${message}; retrying in ${Math.ceil(waitMs / 1000)} s`
  return { type: 'session.error', error: { type, message: text, retry_status: { type: 'retrying', attempt, next_at } } }
}

function lastFailure({ type, message, isPassing }: ModelFailure, tries: number): NewEvent {
  if (!isPassing) return failed(type, message)
  const text = `${message}; failed after ${tries} tries`
  return { type: 'session.error', error: { type, message: text, retry_status: { type: 'exhausted' } } }
}
