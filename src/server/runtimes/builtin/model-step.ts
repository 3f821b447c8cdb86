import type { NewEvent } from '../../../contract/events.ts'
import { newId } from '../../platform/ids.ts'
import { pause } from '../../platform/timers.ts'
import { keyIsGoneReason, pausedBy } from '../endings.ts'
import { failed, idle } from '../runtime.ts'
import type { Answer } from './answer.ts'
import { answerEvents, estimatedUsage, interruptedEvents, modelUsage } from './answer-events.ts'
import { callModel, type ModelFailure, type ModelResult } from './model-call.ts'
import { waitAfter } from './patience.ts'
import { modelRequestBody } from './request.ts'
import type { Events, Run } from './run.ts'

/** How often a wait looks whether the process wants to hand the session over. */
const lookMs = 500

/**
 * One model request, made again while its failures may pass. The answer is stored as a whole, and the last one
 * together with the end of the run, so that no crash in between has it asked for again. False when the run has ended.
 */
export async function* askModel(run: Run): AsyncGenerator<Events, boolean> {
  const { context } = run
  const before = run.conversation.failedTries
  const begunMs = performance.now() - (before ? Math.max(0, Date.now() - before.since) : 0)
  let waitedMs = 0
  for (let count = (before?.count ?? 0) + 1; ; count++) {
    const startId = newId('evt')
    const { result, ids, body } = yield* request(run, startId)
    if (context.signal.aborted || 'cutShort' in result) {
      yield cutShort(run, startId, { result, ids, body })
      return false
    }
    if ('answer' in result) {
      const { batch, goesOn } = answered(run, startId, { answer: result.answer, ids })
      yield batch
      return goesOn
    }
    if ('budget' in result) {
      const stop = { reached: result.budget, message: result.message }
      yield [requestEnd(startId, { is_error: true }), usageEvent(run), pausedBy(stop)]
      return false
    }
    const { failure } = result
    const waitMs = waitAfter(failure, { count, waitedMs, elapsedMs: performance.now() - begunMs }, Math.random())
    const isLast = waitMs === undefined
    const told = isLast ? lastFailure(failure, count) : retrying(failure, { attempt: count, waitMs })
    yield [requestEnd(startId, { is_error: true }), told]
    if (isLast || !(await waited(run, waitMs))) return false
    waitedMs += waitMs
  }
}

/** What came of one request. */
interface Requested {
  readonly result: ModelResult
  /** Event ids of the text blocks that were shown as they came. */
  readonly ids: ReadonlyMap<number, string>
  readonly body: Readonly<Record<string, unknown>>
}

/** Announces the request and makes it. */
async function* request(
  { context, conversation, memories, session, prompt, tools, deps }: Run,
  startId: string,
): AsyncGenerator<Events, Requested> {
  const joined = (await context.prompts()).filter(({ id }) => !conversation.includes(id))
  // One that joined in mid-run came after the history was read.
  for (const { id, parts } of joined) conversation.add({ type: 'user.message', prompt_id: id, content: parts })
  const current = joined.at(-1) ?? prompt
  const start = { id: startId, type: 'span.model_request_start', model: current.model }
  yield [{ ...start, prompt_ids: joined.map(({ id }) => id) }]

  const ids = new Map<number, string>()
  const onText = (index: number, text: string) => {
    const id = ids.get(index) ?? newId('evt')
    ids.set(index, id)
    context.preview(id, text)
  }
  const body = modelRequestBody({ session, prompt: current, memories, messages: conversation.messages, tools })
  const payer = await context.payer(current)
  if (!payer) return { result: { failure: { ...keyIsGoneReason, isPassing: false } }, ids, body }
  const { signal } = context
  const result = await callModel(deps.gateway, {
    session,
    prompt: current,
    runId: context.runId,
    payer,
    body,
    signal,
    onText,
  })
  return { result, ids, body }
}

/**
 * The end of a request that was stopped. What readers saw of its answer stays, unless the session goes on elsewhere: then
 * its next owner makes the request again.
 */
function cutShort({ context, conversation }: Run, startId: string, { result, ids, body }: Requested): Events {
  if (!context.isStopped() || !('cutShort' in result)) return [requestEnd(startId, { is_error: true })]
  const model_usage = estimatedUsage(result.cutShort, result.usage, body)
  return [
    ...interruptedEvents(result.cutShort, ids),
    { ...requestEnd(startId, { model_usage }), interrupted: true, estimated: true },
    { type: 'session.usage', usage: conversation.usageWith(model_usage) },
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

/** What an answer adds to the log, up to the end of the run when the model waits for nothing more. */
function answered(
  { conversation, tools }: Run,
  startId: string,
  { answer, ids }: { answer: Answer; ids: ReadonlyMap<number, string> },
): { batch: Events; goesOn: boolean } {
  const usage = modelUsage(answer)
  const events = [...answerEvents(answer, ids, tools), requestEnd(startId, { model_usage: usage })]
  if (answer.stopReason === 'pause_turn' || events.some(({ type }) => type === 'agent.tool_use')) {
    return { batch: events, goesOn: true }
  }
  const end = [{ type: 'session.usage', usage: conversation.usageWith(usage) }, endOf(answer)]
  return { batch: [...events, ...end], goesOn: false }
}

/** The end of a model request in the log. */
export const requestEnd = (startId: string, fields: { is_error?: true; model_usage?: object }): NewEvent => ({
  type: 'span.model_request_end',
  model_request_start_id: startId,
  is_error: fields.is_error ?? null,
  model_usage: fields.model_usage ?? null,
})

const usageEvent = ({ conversation }: Run): NewEvent => ({
  type: 'session.usage',
  usage: conversation.usageWith(undefined),
})

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

function endOf({ stopReason }: Answer): NewEvent {
  if (stopReason === 'refusal') return idle({ type: 'refusal' })
  const isCut = stopReason === 'max_tokens' || stopReason === 'model_context_window_exceeded'
  return idle({ type: 'end_turn' }, isCut ? { type: stopReason, message: 'the answer was cut off at its limit' } : null)
}
