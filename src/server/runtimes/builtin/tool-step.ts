import type { TextBlock } from '../../../contract/events.ts'
import type { AwaitedResult } from '../../tools/tool-source.ts'
import { type Decision, requiresAction } from '../runtime.ts'
import type { OpenToolUse } from './conversation.ts'
import type { Events, Run } from './run.ts'
import {
  awaitedTool,
  callOf,
  isRead,
  isRepeatable,
  neverAnswered,
  notAllowed,
  outcomeUnknown,
  resultEvent,
  runToolCalls,
} from './tool-calls.ts'

/**
 * Gives every open tool call its result. Calls that need a decision or a result from outside wait for it, and so do
 * later calls that may change something. Returns false when the run has ended or must be handed over before everything
 * was answered.
 */
export async function* callTools(run: Run): AsyncGenerator<Events, boolean> {
  const { conversation } = run
  const open = conversation.openToolUses
  const waits = waitsIn(open, run)
  yield* runAll(
    run,
    open.filter(use => !waits.has(use)),
  )
  const asking = open.filter(use => isAnsweredOutside(use, run))
  if (asking.length === 0) return true
  const answers = yield* ask(run, asking)
  if (!answers) {
    if (run.context.signal.aborted) yield* closeUnanswered(run, [...waits])
    return false
  }
  if (conversation.isWaiting) yield [{ type: 'session.status_running' }]
  yield* finishWaiting(run, [...waits], answers)
  return true
}

/** Returns the calls that must not start now: those answered outside, and later calls that may change something. */
export function waitsIn(open: readonly OpenToolUse[], run: Run): ReadonlySet<OpenToolUse> {
  const first = open.findIndex(use => isAnsweredOutside(use, run))
  return new Set(
    open.filter((use, at) => isAnsweredOutside(use, run) || (first >= 0 && at > first && !isRead(use, run.tools))),
  )
}

/** Gives the calls a result that reports the stop, except those whose result is in the log. */
export async function* closeUnanswered(
  { conversation, tools }: Run,
  waiting: readonly OpenToolUse[],
): AsyncGenerator<Events> {
  const events = waiting.filter(use => !conversation.isAnswered(use)).map(use => neverAnswered(use, tools))
  if (events.length > 0) yield events
}

/**
 * A person decides about the call, or its result comes from elsewhere. A call of an unknown tool fails at once, except
 * that of an MCP server: it may have failed after the question, which stays open.
 */
const isAnsweredOutside = (use: OpenToolUse, { tools }: Run): boolean => {
  const isKnown = use.isMcp === true || tools.byName.has(use.name)
  return (use.permission === 'ask' && use.eventId !== undefined && isKnown) || awaitedTool(use, tools) !== undefined
}

async function* runAll({ tools, callContext }: Run, uses: readonly OpenToolUse[]): AsyncGenerator<Events> {
  for await (const result of runToolCalls(uses, tools, callContext)) yield [result]
}

type Answer = { readonly decision: Decision } | { readonly result: AwaitedResult }

/**
 * Requests the answers that were not requested before, and waits for all; undefined when the run must end first.
 */
async function* ask(
  run: Run,
  uses: readonly OpenToolUse[],
): AsyncGenerator<Events, ReadonlyMap<OpenToolUse, Answer> | undefined> {
  const { conversation } = run
  const ids = uses.flatMap(({ eventId = '' }) => (conversation.wasRequested(eventId) ? [] : [eventId]))
  if (ids.length > 0) yield [requiresAction(ids)]
  const answers = await Promise.all(uses.map(use => answerOf(run, use)))
  const answered = uses.flatMap((use, at) => (answers[at] ? [[use, answers[at]] as const] : []))
  for (const [use, answer] of answered)
    if ('result' in answer && answer.result.isLogged) conversation.answer(use, answer.result)
  return answered.length === uses.length ? new Map(answered) : undefined
}

async function answerOf({ context, tools }: Run, use: OpenToolUse): Promise<Answer | undefined> {
  const { eventId = '' } = use
  const tool = awaitedTool(use, tools)
  if (tool) {
    const result = await tool.result(eventId)
    return result && { result }
  }
  const decision = await context.decision(eventId)
  return decision && { decision }
}

const maxShownInput = 10_000

/** Tells the model with which arguments the call ran: the conversation has its own. */
function editNote(input: unknown): TextBlock {
  const text = JSON.stringify(input)
  const shown = text.length > maxShownInput ? `${text.slice(0, maxShownInput)} (truncated)` : text
  return { type: 'text', text: `A person changed the arguments of this call; it ran with: ${shown}` }
}

/**
 * Logs results that came from elsewhere and runs the other calls in their order, with the arguments of the person who
 * allowed them if there are any. A call that an earlier owner had started is not run again, unless the tool is
 * repeatable.
 */
async function* finishWaiting(
  run: Run,
  waiting: readonly OpenToolUse[],
  answers: ReadonlyMap<OpenToolUse, Answer>,
): AsyncGenerator<Events> {
  const toRun: OpenToolUse[] = []
  const notes = new Map<string, TextBlock>()
  for (const use of waiting) {
    const answer = answers.get(use)
    const end = await endOf(run, use, answer)
    if (end) {
      if (end.length > 0) yield end
      continue
    }
    const input = editedInput(answer)
    toRun.push(input === undefined ? use : { ...use, input })
    if (input !== undefined) notes.set(use.tool_use_id, editNote(input))
  }
  for await (const result of runToolCalls(toRun, run.tools, run.callContext)) {
    const note = notes.get(callOf(result)) ?? []
    yield [{ ...result, content: [note, result.content ?? []].flat() }]
  }
}

/** Returns the arguments that a person put in place of the model's. */
const editedInput = (answer: Answer | undefined): unknown =>
  answer && 'decision' in answer ? answer.decision.input : undefined

/** Returns the events of a call that is not run; undefined for a call that is to be run. */
async function endOf(run: Run, use: OpenToolUse, answer: Answer | undefined): Promise<Events | undefined> {
  if (!answer) return undefined
  if ('result' in answer) return answer.result.isLogged ? [] : [resultEvent(use, answer.result)]
  if (answer.decision.result === 'deny') return [notAllowed(use, answer.decision.message)]
  const mayRun = (await run.context.claimToolCall(use.eventId ?? '')) || isRepeatable(use, run.tools)
  return mayRun ? undefined : [outcomeUnknown(use)]
}
