import type { TextBlock } from '../../../contract/events.ts'
import { type AwaitedResult, isClientTool } from '../../tools/tool-source.ts'
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
  type ResultEvent,
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

/** What came from outside about a call: the decision of a person, a result, or both. */
interface Answer {
  readonly decision?: Decision | undefined
  readonly result?: AwaitedResult | undefined
}

/**
 * Requests the answers that were not requested before, and waits for all; undefined when the run must end first.
 * Answers are looked up in the order of the calls, in which calls of agents start as well.
 */
async function* ask(
  run: Run,
  uses: readonly OpenToolUse[],
): AsyncGenerator<Events, ReadonlyMap<OpenToolUse, Answer> | undefined> {
  const { conversation } = run
  const ids = uses.flatMap(use =>
    requiresOthers(use, run) && !conversation.wasRequested(use.eventId ?? '') ? [use.eventId ?? ''] : [],
  )
  if (ids.length > 0) yield [requiresAction(ids)]
  const answers = new Map<OpenToolUse, Answer>()
  let isOpen = false
  for (const use of uses) {
    const answer = await answerOf(run, use)
    if (isComplete(use, answer, run)) answers.set(use, answer)
    isOpen ||= !isSettledByOthers(use, answer, run)
    if (answer.result?.isLogged) conversation.answer(use, answer.result)
  }
  if (answers.size === uses.length) return answers
  // Only agents still work, so the session asks for no action any more.
  if (!isOpen && conversation.isWaiting && !run.context.signal.aborted) yield [{ type: 'session.status_running' }]
  return undefined
}

/** True for a call about which a person decides, or whose result a client sends. */
function requiresOthers(use: OpenToolUse, { tools }: Run): boolean {
  const tool = awaitedTool(use, tools)
  return use.permission === 'ask' || (tool !== undefined && isClientTool(tool))
}

/** True once the person or the client has answered; also for a call that needs neither. */
function isSettledByOthers(use: OpenToolUse, { decision, result }: Answer, run: Run): boolean {
  return !requiresOthers(use, run) || decision !== undefined || result !== undefined
}

/** True for a call that was denied, has its result, or may run now. */
function isComplete(use: OpenToolUse, { decision, result }: Answer, { tools }: Run): boolean {
  if (decision?.result === 'deny' || result) return true
  return decision !== undefined && !awaitedTool(use, tools)
}

async function answerOf({ context, tools }: Run, use: OpenToolUse): Promise<Answer> {
  const { eventId = '' } = use
  const decision = use.permission === 'ask' ? await context.decision(eventId) : undefined
  const mayStart = use.permission !== 'ask' || decision?.result === 'allow'
  return { decision, result: mayStart ? await awaitedTool(use, tools)?.result(eventId) : undefined }
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
  const withNote = (result: ResultEvent): ResultEvent => {
    const note = notes.get(callOf(result)) ?? []
    return { ...result, content: [note, result.content ?? []].flat() }
  }
  for (const use of waiting) {
    const answer = answers.get(use)
    const input = answer?.decision?.input
    if (input !== undefined) notes.set(use.tool_use_id, editNote(input))
    const end = await endOf(run, use, answer)
    if (!end) toRun.push(input === undefined ? use : { ...use, input })
    else if (end.length > 0) yield end.map(withNote)
  }
  for await (const result of runToolCalls(toRun, run.tools, run.callContext)) yield [withNote(result)]
}

/** Returns the events of a call that is not run; undefined for a call that is to be run. */
async function endOf(
  run: Run,
  use: OpenToolUse,
  { decision, result }: Answer = {},
): Promise<readonly ResultEvent[] | undefined> {
  if (result) return result.isLogged ? [] : [resultEvent(use, result)]
  if (!decision) return undefined
  if (decision.result === 'deny') return [notAllowed(use, decision.message)]
  const mayRun = (await run.context.claimToolCall(use.eventId ?? '')) || isRepeatable(use, run.tools)
  return mayRun ? undefined : [outcomeUnknown(use)]
}
