import { budgetReached, endsRun } from '../../../../contract/events.ts'
import type { LastVerdict, Outcome, OutcomeVerdict } from '../../../../contract/outcomes.ts'
import { pause } from '../../../platform/timers.ts'
import { idle } from '../../runtime.ts'
import { modelUsage } from '../answer-events.ts'
import { limitsOf } from '../context/limits.ts'
import { noContents, withFiles } from '../context/prompt-files.ts'
import { paidCall, type RequestOutcome, requestEnd, requestWithRetries, usageEvent } from '../model-tries.ts'
import { resultIn, schemaOf } from '../result.ts'
import type { Events, Run } from '../run.ts'
import { type Graded, graderRequest, verdictIn } from './grader.ts'
import {
  evaluationEnded,
  evaluationOngoing,
  evaluationStarted,
  type OpenEvaluation,
  verdictRequested,
} from './outcome-events.ts'

const heartbeatMs = 30_000
/** Requests with a shorter record each, after the grader's model rejected one as too long. */
const maxShortenings = 4

/**
 * Returns the event that starts the evaluation of an answer; undefined when the run has no outcome, or the grader has
 * had the last word.
 */
export function evaluationOf({ prompt: { outcome }, conversation }: Run) {
  if (!outcome) return undefined
  const last = conversation.outcomes.verdictOn(outcome)
  if (last && last.result !== 'needs_revision') return undefined
  return evaluationStarted(outcome, last ? last.iteration + 1 : 0)
}

/** Returns the field of the run's last event about its outcome. */
export function outcomeField({ prompt: { outcome }, conversation }: Run): { readonly outcome?: LastVerdict } {
  const last = conversation.outcomes.verdictOn(outcome)
  return outcome && last ? { outcome: last } : {}
}

/**
 * Lets the grader judge the last answer of the agent. Returns false when the run has ended or must be handed over; else
 * the agent's next turn follows.
 */
export async function* evaluate(run: Run, outcome: Outcome): AsyncGenerator<Events, boolean> {
  let room = Number.POSITIVE_INFINITY
  for (let shortenings = 0; ; ) {
    const open = run.conversation.outcomes.evaluationOf(outcome)
    if (!open) return true
    const asked = yield* ask(run, { outcome, open, room })
    if (!asked) return false
    if ('tooLong' in asked) {
      if (++shortenings > maxShortenings) return yield* end(run, open, { outcome, graded: tooLong })
      room = Math.floor(asked.room / 2)
      continue
    }
    const usage = modelUsage(asked.answer)
    const ended = [requestEnd(asked.startId, { model_usage: usage })]
    const graded = verdictIn(asked.answer)
    if ('result' in graded || open.problem !== undefined)
      return yield* end(run, open, { outcome, graded, ended, usage })
    yield [...ended, verdictRequested(graded.problem)]
  }
}

const tooLong: Graded = {
  result: 'failed',
  explanation: 'the record of the work does not fit into the context window of the grader',
}

interface End {
  readonly outcome: Outcome
  readonly graded: Graded
  /** The end of the grader's request; absent when it is in the log. */
  readonly ended?: Events
  readonly usage?: ReturnType<typeof modelUsage>
}

/** Stores the verdict. Returns false when it ends the run. */
async function* end(run: Run, open: OpenEvaluation, { outcome, graded, ended = [], usage }: End) {
  const verdict = verdictOf(graded, { outcome, iteration: open.iteration })
  const event = evaluationEnded(open, verdict, usage)
  if (verdict.result === 'needs_revision' || verdict.result === 'max_iterations_reached') {
    yield [...ended, event]
    return true
  }
  const { outcome_id, iteration, result, explanation } = event
  const last = idle({ type: 'end_turn' }, verdict.result === 'failed' ? failedDetails(explanation) : null)
  const idleEvent = { ...last, ...resultField(run), outcome: { outcome_id, iteration, result, explanation } }
  yield [...ended, event, usageEvent(run, usage), idleEvent]
  return false
}

const failedDetails = (explanation: string) => ({
  type: 'outcome_failed',
  message: `evaluation failed: ${explanation}`.slice(0, 1_000).toWellFormed(),
})

/** Returns the value of a run with a result schema; the answer was checked before its evaluation. */
function resultField({ conversation, schema, session, prompt }: Run): { readonly result?: unknown } {
  if (!(schema ?? schemaOf(session, [prompt]))) return {}
  const last = conversation.transcript.messages.at(-1)
  const found = last?.role === 'assistant' ? resultIn(last) : undefined
  return found ? { result: found.value } : {}
}

interface Judged {
  readonly outcome: Outcome
  readonly iteration: number
}

/** Returns the verdict of an evaluation: the last one of the outcome does not ask for a revision. */
function verdictOf(graded: Graded, { outcome, iteration }: Judged): { result: OutcomeVerdict; explanation: string } {
  if ('problem' in graded)
    return { result: 'failed', explanation: `the answer of the grader ${graded.problem}; it had a second try` }
  const isLast = iteration + 1 >= outcome.max_iterations
  const result = graded.result === 'needs_revision' && isLast ? 'max_iterations_reached' : graded.result
  return { result, explanation: graded.explanation }
}

interface Question {
  readonly outcome: Outcome
  readonly open: OpenEvaluation
  /** Maximum estimated tokens of the request. */
  readonly room: number
}

type Asked =
  | Extract<RequestOutcome, { readonly startId: string }>
  | (Extract<RequestOutcome, { readonly tooLong: unknown }> & { readonly room: number })

/** Asks the grader. Ends the evaluation when the run ends first, and then returns undefined. */
async function* ask(run: Run, { outcome, open, room }: Question): AsyncGenerator<Events, Asked | undefined> {
  const { session, context, deps, conversation } = run
  const prompt = { ...run.prompt, model: outcome.model ?? run.prompt.model }
  // Fallbacks of the agent's model do not replace another grader.
  const asking = outcome.model === null ? run : { ...run, session: { ...session, config: {} } }
  const limits = limitsOf(asking, prompt)
  const left = Math.min(room, limits.input)
  const body = graderRequest({
    model: prompt.model,
    outcome,
    messages: withFiles(conversation.transcript.messages, noContents),
    answer: limits.answer,
    room: left,
    problem: open.problem,
  })
  const requests = requestWithRetries(asking, async function* (startId) {
    const purpose = 'outcome_evaluation'
    yield [
      { id: startId, type: 'span.model_request_start', model: prompt.model, prompt_ids: [], purpose },
      evaluationOngoing(open),
    ]
    const call = paidCall(asking, { prompt, body, onText: () => undefined })
    yield* heartbeats(call, { open, wait: deps.wait ?? pause })
    return { result: await call, prompt, ids: undefined, body }
  })
  const answered = yield* closing(requests, open)
  if (answered) return 'tooLong' in answered ? { ...answered, room: left } : answered
  if (context.isStopped()) yield [evaluationEnded(current(run, open), interrupted)]
  return undefined
}

const interrupted = { result: 'interrupted', explanation: 'the run was stopped during the evaluation' } as const

/** The evaluation with the tokens of the requests in the log. */
const current = ({ conversation, prompt }: Run, open: OpenEvaluation): OpenEvaluation =>
  conversation.outcomes.evaluationOf(prompt.outcome) ?? open

/** Ends an evaluation that was open when the run was stopped before the grader was asked. */
export async function* closeEvaluation(run: Run): AsyncGenerator<Events> {
  const open = run.conversation.outcomes.evaluationOf(run.prompt.outcome)
  if (open && run.context.isStopped()) yield [evaluationEnded(open, interrupted)]
}

interface Heartbeat {
  readonly open: OpenEvaluation
  readonly wait: typeof pause
}

/** Reports every 30 s that the grader is running, until the call has ended. */
async function* heartbeats(call: Promise<unknown>, { open, wait }: Heartbeat): AsyncGenerator<Events> {
  for (let isOver = false; !isOver; ) {
    const over = new AbortController()
    const ended = call.then(
      () => true,
      () => true,
    )
    isOver = await Promise.race([ended, wait(heartbeatMs, over.signal).then(() => false)])
    over.abort()
    if (!isOver) yield [evaluationOngoing(open)]
  }
}

/** Passes the events of requests on, and ends the evaluation before an event that ends the run. */
async function* closing(
  requests: AsyncGenerator<Events, RequestOutcome | undefined>,
  open: OpenEvaluation,
): AsyncGenerator<Events, RequestOutcome | undefined> {
  for (;;) {
    const next = await requests.next()
    if (next.done) return next.value
    const last = next.value.at(-1)
    const isEnd = last !== undefined && endsRun(last) && !budgetReached(last)
    if (isEnd) {
      const explanation = `the grader could not be asked: ${last.error?.message ?? 'the run ended'}`
      yield [...next.value.slice(0, -1), evaluationEnded(open, { result: 'failed', explanation }), last]
    } else yield next.value
  }
}
