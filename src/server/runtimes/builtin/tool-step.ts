import type { TextBlock } from '../../../contract/events.ts'
import { type Decision, requiresAction } from '../runtime.ts'
import type { OpenToolUse } from './conversation.ts'
import type { Events, Run } from './run.ts'
import { isRead, isRepeatable, neverAnswered, notAllowed, outcomeUnknown, runToolCalls } from './tool-calls.ts'

/**
 * Gives every open tool call its result. Calls that ask wait for a person, and so do later calls that may change
 * something. Returns false when the run has ended or must be handed over before all questions were answered.
 */
export async function* callTools(run: Run): AsyncGenerator<Events, boolean> {
  const { conversation, tools } = run
  const open = conversation.openToolUses
  const firstAsking = open.findIndex(use => asks(use, run))
  const waits = (use: OpenToolUse, at: number) =>
    asks(use, run) || (firstAsking >= 0 && at > firstAsking && !isRead(use, tools))
  yield* runAll(
    run,
    open.filter((use, at) => !waits(use, at)),
  )
  const waiting = open.filter(waits)
  const asking = waiting.filter(use => asks(use, run))
  if (asking.length === 0) return true
  const decided = yield* ask(run, asking)
  if (!decided) {
    if (run.context.signal.aborted) yield waiting.map(neverAnswered)
    return false
  }
  if (conversation.isWaiting) yield [{ type: 'session.status_running' }]
  yield* runDecided(run, waiting, new Map(decided.map(({ use, decision }) => [use, decision])))
  return true
}

/** A call of an unknown tool does not ask: it fails. */
const asks = ({ permission, name, eventId }: OpenToolUse, { tools }: Run): boolean =>
  permission === 'ask' && eventId !== undefined && tools.has(name)

async function* runAll({ tools, toolContext }: Run, uses: readonly OpenToolUse[]): AsyncGenerator<Events> {
  for await (const result of runToolCalls(uses, tools, toolContext)) yield [result]
}

interface Decided {
  readonly use: OpenToolUse
  readonly decision: Decision
}

/**
 * Asks about calls that were not asked about before, and waits for all answers; undefined when the run must end first.
 */
async function* ask(
  { conversation, context }: Run,
  uses: readonly OpenToolUse[],
): AsyncGenerator<Events, Decided[] | undefined> {
  const ids = uses.flatMap(({ eventId = '' }) => (conversation.wasRequested(eventId) ? [] : [eventId]))
  if (ids.length > 0) yield [requiresAction(ids)]
  const decisions = await Promise.all(uses.map(({ eventId = '' }) => context.decision(eventId)))
  const decided = uses.flatMap((use, at) => (decisions[at] ? [{ use, decision: decisions[at] }] : []))
  return decided.length === uses.length ? decided : undefined
}

const maxShownInput = 10_000

const withInput = (use: OpenToolUse, input: unknown): OpenToolUse => (input === undefined ? use : { ...use, input })

/** Tells the model with which arguments the call ran: the conversation has its own. */
function editNote(input: unknown): TextBlock {
  const text = JSON.stringify(input)
  const shown = text.length > maxShownInput ? `${text.slice(0, maxShownInput)} (truncated)` : text
  return { type: 'text', text: `A person changed the arguments of this call; it ran with: ${shown}` }
}

/**
 * Runs the allowed calls in their order, with the arguments of the person who allowed them if there are any. A call
 * that an earlier owner had started is not run again, unless the tool is repeatable.
 */
async function* runDecided(
  run: Run,
  waiting: readonly OpenToolUse[],
  decisions: ReadonlyMap<OpenToolUse, Decision>,
): AsyncGenerator<Events> {
  const toRun: OpenToolUse[] = []
  const notes = new Map<string, TextBlock>()
  const mayRun = async (use: OpenToolUse) =>
    (await run.context.claimToolCall(use.eventId ?? '')) || isRepeatable(use, run.tools)
  for (const use of waiting) {
    const decision = decisions.get(use)
    if (decision?.result === 'deny') yield [notAllowed(use, decision.message)]
    else if (!decision || (await mayRun(use))) {
      toRun.push(withInput(use, decision?.input))
      if (decision?.input !== undefined) notes.set(use.tool_use_id, editNote(decision.input))
    } else yield [outcomeUnknown(use)]
  }
  for await (const result of runToolCalls(toRun, run.tools, run.toolContext)) {
    const note = notes.get(result.tool_use_id) ?? []
    yield [{ ...result, content: [note, result.content ?? []].flat() }]
  }
}
