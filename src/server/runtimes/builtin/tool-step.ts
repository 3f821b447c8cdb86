import { type Decision, requiresAction } from '../runtime.ts'
import type { OpenToolUse } from './conversation.ts'
import type { Events, Run } from './run.ts'
import { isRead, isRepeatable, neverAnswered, notAllowed, outcomeUnknown, runToolCalls } from './tool-calls.ts'

/**
 * Gives every open tool call its result. Those that ask wait for a person, and so do those behind the first of them that may
 * change something. False when the run has ended, or has to be handed over, before all were answered.
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
  yield* follow(run, waiting, new Map(decided.map(({ use, decision }) => [use, decision])))
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

/**
 * Runs the calls in their order, but for those that were not allowed. A call that an owner before us had begun is not run
 * again, unless that does no harm.
 */
async function* follow(
  run: Run,
  waiting: readonly OpenToolUse[],
  decisions: ReadonlyMap<OpenToolUse, Decision>,
): AsyncGenerator<Events> {
  const toRun: OpenToolUse[] = []
  for (const use of waiting) {
    const decision = decisions.get(use)
    if (decision?.result === 'deny') yield [notAllowed(use, decision.message)]
    else if (!decision || (await run.context.spend(use.eventId ?? '')) || isRepeatable(use, run.tools)) toRun.push(use)
    else yield [outcomeUnknown(use)]
  }
  yield* runAll(run, toRun)
}
