import type { BudgetReached } from '../../../src/contract/events.ts'
import { adviceFor } from './failure-advice.ts'
import { firstArgument } from './tool-text.ts'
import type { Pause, Prompt, Run, Time, ToolCall, TurnEnd, View } from './view.ts'

/** What a session does or waits for, and since when. */
export type Status = { readonly since: Time | undefined } & (
  | { readonly word: 'queued'; readonly prompt: Prompt; readonly position: number; readonly count: number }
  /** `phase`: `answered` after a wait, else type of the last event of the preparation, such as `session.repository_ready`. */
  | { readonly word: 'starting runtime'; readonly phase: string | undefined }
  | { readonly word: 'model thinking'; readonly model: string | undefined; readonly isCompaction: boolean }
  | { readonly word: 'tool running'; readonly call: ToolCall; readonly argument: string; readonly count: number }
  | { readonly word: 'waiting for approval'; readonly calls: readonly ToolCall[]; readonly eventIds: readonly string[] }
  | {
      readonly word: 'waiting for custom tool'
      readonly calls: readonly ToolCall[]
      /** End of the first timeout. */
      readonly expiresAt: Time | undefined
    }
  | { readonly word: 'waiting for subagent'; readonly calls: readonly ToolCall[] }
  | {
      readonly word: 'retrying'
      /** Number of the next try; undefined when the runtime does not report it. */
      readonly attempt: number | undefined
      readonly nextAt: Time | undefined
      readonly message: string
    }
  | {
      readonly word: 'paused: budget'
      readonly budget: BudgetReached | undefined
      readonly message: string | undefined
    }
  | { readonly word: 'stopping' }
  | { readonly word: 'idle'; readonly end: TurnEnd | undefined }
  | { readonly word: 'stopped'; readonly reason: string }
  | { readonly word: 'failed'; readonly cause: string; readonly type: string; readonly nextStep: string }
)

/** Returns the state of a session by its events. */
export function statusOf(view: View): Status {
  const { run, waiting, lastEnd, log } = view
  if (view.isDeleted) return { word: 'stopped', since: log.at(log.count - 1)?.processed_at, reason: 'deleted' }
  if (run) return run.pause ? pausedStatus(run.pause) : runningStatus(view, run)
  const [first] = waiting
  if (first) return { word: 'queued', since: first.queuedAt, prompt: first, position: 1, count: waiting.length }
  return endStatus(lastEnd)
}

function pausedStatus({ at: since, reason, message }: Pause): Status {
  return { word: 'paused: budget', since, budget: reason.type === 'budget_reached' ? reason : undefined, message }
}

function runningStatus(view: View, run: Run): Status {
  if (run.stopRequestedAt !== undefined) return { word: 'stopping', since: run.stopRequestedAt }
  if (run.retry) {
    const { attempt, nextAt, message, since } = run.retry
    return { word: 'retrying', since, attempt: attempt === undefined ? undefined : attempt + 1, nextAt, message }
  }
  if (run.wait?.answeredAt !== undefined) {
    return { word: 'starting runtime', since: run.wait.answeredAt, phase: 'answered' }
  }
  if (run.request && !run.wait) return { word: 'model thinking', ...run.request }
  return waitStatus(view, run) ?? stepStatus(view, run)
}

/** Between two steps the next model request is about to start. */
function stepStatus(view: View, run: Run): Status {
  if (run.steppedAt === undefined) return { word: 'starting runtime', since: run.since, phase: phaseOf(view, run) }
  const last = view.turns[run.turn]?.groups.at(-1)
  return { word: 'model thinking', since: run.steppedAt, model: last?.model, isCompaction: false }
}

function phaseOf({ turns }: View, { turn }: Run): string | undefined {
  const last = turns[turn]?.groups.at(-1)?.items.at(-1)
  return last?.kind === 'note' ? last.event.type : undefined
}

/** Returns what open tool calls do or wait for. A call that runs comes first, because the others may wait for it. */
function waitStatus(view: View, run: Run): Status | undefined {
  const calls = openCalls(view)
  const inState = (state: ToolCall['state']) => calls.filter(call => call.state === state)
  const [first] = inState('running')
  if (first && !run.wait) {
    const since = first.approval?.decidedAt ?? first.at
    const argument = firstArgument(first.input)
    return { word: 'tool running', since, call: first, argument, count: inState('running').length }
  }
  const asking = inState('waiting for approval')
  const ofClient = inState('waiting for client')
  if (asking.length > 0 || (run.wait && ofClient.length === 0)) {
    const since = asking[0]?.at ?? run.wait?.since
    return { word: 'waiting for approval', since, calls: asking, eventIds: eventIdsOf(asking, run) }
  }
  if (ofClient.length > 0) {
    const expiresAt = firstExpiry(ofClient)
    return { word: 'waiting for custom tool', since: ofClient[0]?.at, calls: ofClient, expiresAt }
  }
  const delegated = inState('waiting for subagent')
  return delegated.length > 0 ? { word: 'waiting for subagent', since: delegated[0]?.at, calls: delegated } : undefined
}

const eventIdsOf = (asking: readonly ToolCall[], { wait }: Run): readonly string[] =>
  asking.length > 0 ? asking.map(({ key }) => key) : (wait?.eventIds ?? [])

/** Returns the tool calls without a result, in their order. */
export function openCalls(view: View): ToolCall[] {
  const calls: ToolCall[] = []
  for (const { turn, group, item } of view.bookmarks.openByEvent.values()) {
    const call = view.turns[turn]?.groups[group]?.items[item]
    if (call?.kind === 'tool') calls.push(call)
  }
  return calls
}

function firstExpiry(calls: readonly ToolCall[]): Time | undefined {
  const ends = calls.map(expiryOf).filter(end => end !== undefined)
  return ends.toSorted()[0]
}

/** Returns the end of the timeout of a call that a client answers; undefined without one. */
export function expiryOf({ at, approval, timeoutSeconds }: ToolCall): Time | undefined {
  if (timeoutSeconds === undefined) return undefined
  return new Date(Date.parse(approval?.decidedAt ?? at) + timeoutSeconds * 1000).toISOString()
}

function endStatus(end: TurnEnd | undefined): Status {
  if (!end) return { word: 'idle', since: undefined, end: undefined }
  const { at: since, outcome, error, stopReason } = end
  if (outcome === 'failed') {
    const type = error?.type ?? stopReason?.type ?? 'unknown_error'
    return { word: 'failed', since, type, cause: causeOf(end), nextStep: adviceFor(type) }
  }
  if (outcome === 'stopped') return { word: 'stopped', since, reason: end.reason ?? end.stopDetails?.type ?? 'stopped' }
  return { word: 'idle', since, end }
}

function causeOf({ error, stopDetails, stopReason }: TurnEnd): string {
  const said = error?.message ?? stopDetails?.message
  if (said) return said
  return stopReason?.type === 'refusal' ? 'the model refused to answer' : 'all tries failed'
}
