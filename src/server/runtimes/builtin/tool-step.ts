import { type Decision, requiresAction } from '../runtime.ts'
import type { OpenToolUse } from './conversation.ts'
import type { Events, Run } from './run.ts'
import { isRepeatable, neverAnswered, notAllowed, outcomeUnknown, runToolCalls } from './tool-calls.ts'

/**
 * Gives every open tool call its result. Those that ask wait for a person, behind all that do not. False when the run has
 * ended, or has to be handed over, before all were answered.
 */
export async function* callTools(run: Run): AsyncGenerator<Events, boolean> {
  const { conversation } = run
  const open = conversation.openToolUses
  yield* runAll(
    run,
    open.filter(use => !asks(use, run)),
  )
  const asking = open.filter(use => asks(use, run))
  if (asking.length === 0) return true
  const decided = yield* ask(run, asking)
  if (!decided) {
    if (run.context.signal.aborted) yield asking.map(neverAnswered)
    return false
  }
  if (conversation.isWaiting) yield [{ type: 'session.status_running' }]
  yield* follow(run, decided)
  return true
}

/** A call of a tool that is not there asks nobody: it fails. */
const asks = ({ permission, name, eventId }: OpenToolUse, { tools }: Run): boolean =>
  permission === 'ask' && eventId !== undefined && tools.has(name)

async function* runAll({ tools, toolContext }: Run, uses: readonly OpenToolUse[]): AsyncGenerator<Events> {
  for await (const result of runToolCalls(uses, tools, toolContext)) yield [result]
}

interface Decided {
  readonly use: OpenToolUse
  readonly decision: Decision
}

/** Asks about what nobody was asked about before, and waits for all answers; undefined when there is no more time. */
async function* ask(
  { conversation, context }: Run,
  uses: readonly OpenToolUse[],
): AsyncGenerator<Events, Decided[] | undefined> {
  const ids = uses.flatMap(({ eventId = '' }) => (conversation.wasAsked(eventId) ? [] : [eventId]))
  if (ids.length > 0) yield [requiresAction(ids)]
  const decisions = await Promise.all(uses.map(({ eventId = '' }) => context.decision(eventId)))
  const decided = uses.flatMap((use, at) => (decisions[at] ? [{ use, decision: decisions[at] }] : []))
  return decided.length === uses.length ? decided : undefined
}

/** Runs what was allowed. A call that an owner before us had begun is not run again, unless that does no harm. */
async function* follow(run: Run, decided: readonly Decided[]): AsyncGenerator<Events> {
  const toRun: OpenToolUse[] = []
  for (const { use, decision } of decided) {
    if (decision.result === 'deny') yield [notAllowed(use, decision.message)]
    else if ((await run.context.spend(use.eventId ?? '')) || isRepeatable(use, run.tools)) toRun.push(use)
    else yield [outcomeUnknown(use)]
  }
  yield* runAll(run, toRun)
}
