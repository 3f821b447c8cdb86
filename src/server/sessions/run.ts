import type { PoolClient } from 'pg'
import { statusOfCode } from '../../contract/errors.ts'
import { askedBy, type BudgetReached, budgetReached, endsRun, type NewEvent } from '../../contract/events.ts'
import { AppError } from '../platform/errors.ts'
import { newId } from '../platform/ids.ts'
import type { Log } from '../platform/log.ts'
import {
  type BatchParts,
  failed,
  type ProviderRefs,
  partsOf,
  type RunContext,
  type RunSession,
  type Runtime,
  RuntimeFailure,
  stopped,
} from '../runtimes/runtime.ts'
import { type EventLog, FenceLost, whileHeld } from './event-log.ts'
import type { HeldSession } from './leases.ts'
import type { PauseStore } from './pause-store.ts'
import { promptsEnded } from './prompt-ended.ts'
import type { QueuedPrompt } from './prompt-store.ts'
import { type ContextDeps, contextOf } from './run-context.ts'
import type { SessionRow } from './session-store.ts'
import { type MoveDeps, tellOfMove } from './workspace-move.ts'

export interface RunDeps extends ContextDeps, Pick<MoveDeps, 'folderId'> {
  readonly pauses: PauseStore
  readonly eventLog: EventLog
  readonly log: Log
}

/** What one run works on. */
export interface RunTask {
  readonly held: HeldSession
  readonly row: SessionRow
  readonly session: RunSession
  readonly runtime: Runtime
  readonly prompt: QueuedPrompt
  /** An owner before us was cut off in the middle of this prompt. */
  readonly isResumed: boolean
  /** Aborts when the process must end before the run does. */
  readonly shutdown: AbortSignal
}

type Outcome = 'completed' | 'failed' | 'cancelled'

/** A prompt that was cut off this often is given up. Reliability: Interrupted step. */
const maxResumes = 3
/** A log at its cap takes no further run. Reliability: Events. */
const maxEvents = 50_000
const maxLogBytes = 50 * 1024 * 1024

/**
 * Runs one prompt to its end, or until a budget stops it: stores what the runtime yields batch by batch, the last batch
 * together with the state of the prompt. Resolves without an end when the process drains. Rejects with `FenceLost` when
 * the session is not ours any more, and with any other error for a fault of ours: the prompt is then neither ended nor
 * at fault, and can be run again.
 */
export async function runPrompt(deps: RunDeps, task: RunTask): Promise<void> {
  const { held, prompt } = task
  const runId = prompt.run_id ?? newId('run')
  const stop = new AbortController()
  held.onStop = asked => {
    if (asked === runId) stop.abort()
  }
  if (prompt.stop_requested) stop.abort()
  const limit = startTimeLimit(task.session)
  const signal = AbortSignal.any([held.lost, task.shutdown, stop.signal, limit.signal])

  await begin(deps, task, runId)
  const refusal = refusalOf(task)
  if (!refusal) await tellOfMove(deps, task)
  // Also a run that does not go on gets its ends: a runtime that is told to stop at once closes what was cut off.
  const isStopped = () => stop.signal.aborted || limit.signal.aborted
  const driving = drive(deps, task, { signal: refusal ? AbortSignal.abort() : signal, isStopped, runId })
  const driven = await driving.finally(limit.end)
  const { last, hasProgressed } = driven
  const end = refusal ?? last
  if (held.lost.aborted) throw new FenceLost(held.sessionId)
  const reached = end?.map(budgetReached).find(Boolean)
  if (end && reached) return pause(deps, task, { runId, batch: end, refs: driven.refs, reached, hasProgressed })
  if (end) return finish(deps, task, { runId, batch: end, refs: driven.refs })
  if (stop.signal.aborted) return finish(deps, task, { runId, batch: [stopped], outcome: 'cancelled' })
  if (limit.signal.aborted) return finish(deps, task, { runId, batch: [outOfTime(limit.seconds)] })
  if (deps.isDraining()) return
  return finish(deps, task, { runId, batch: ended })
}

/** Ends a prompt that met the same fault of ours again and again. */
export async function giveUp(deps: RunDeps, task: Pick<RunTask, 'held' | 'prompt'>, fault: unknown): Promise<void> {
  const runId = task.prompt.run_id ?? newId('run')
  await begin(deps, { ...task, isResumed: false }, runId)
  await finish(deps, task, { runId, batch: [endBy(fault)] })
}

/** Refusals of ours have public words; of anything else the log alone has the cause. */
function endBy(fault: unknown): NewEvent {
  if (fault instanceof AppError && fault.code !== 'internal') return failed('model_request_failed_error', fault.message)
  const message = 'internal error: the prompt could not be run; see the log of the server, or send the prompt again'
  return failed('unknown_error', message)
}

/** Starts the clock of the agent's time limit, if it has one; a process that takes a run over starts it anew. */
function startTimeLimit({ config }: RunSession) {
  const reached = new AbortController()
  const seconds = Number(config['time_limit_seconds'] ?? 0)
  const timer = seconds > 0 ? setTimeout(() => reached.abort(), seconds * 1000) : undefined
  return { seconds, signal: reached.signal, end: () => clearTimeout(timer) }
}

const outOfTime = (seconds: number): NewEvent =>
  failed('unknown_error', `the run took more than ${seconds} s, the time limit of its agent; send a prompt to go on`)

/** What came of a runtime's work. */
interface Driven {
  /** Not yet stored; undefined when it was stopped before. */
  readonly last: readonly NewEvent[] | undefined
  /** What the last batch says of the provider's names. */
  readonly refs?: Partial<ProviderRefs> | undefined
  /** The model said something, or a tool did. */
  readonly hasProgressed: boolean
}

/** Stores what the runtime yields, but for its last batch. */
async function drive(
  deps: RunDeps,
  { held, runtime, session, prompt }: RunTask,
  { signal, isStopped, runId }: Pick<RunContext, 'signal' | 'isStopped' | 'runId'>,
): Promise<Driven> {
  let hasProgressed = false
  try {
    const context = {
      runId,
      signal,
      isStopped,
      isDraining: deps.isDraining,
      ...contextOf(deps, held, { runId, signal }),
    }
    for await (const batch of runtime.run(session, prompt, context)) {
      const { events: told, refs } = partsOf(batch)
      const events = stamped(told, prompt.id, runId)
      if (events.some(event => endsRun(event))) return { last: events, refs, hasProgressed }
      if (events.length > 0) await deps.eventLog.append(held, events, alongside(deps, held, { events, refs }))
      else if (refs) await context.remember(refs)
      hasProgressed ||= events.some(({ type }) => type.startsWith('agent.'))
    }
    return { last: undefined, hasProgressed }
  } catch (error) {
    if (error instanceof FenceLost) throw error
    if (signal.aborted) return { last: undefined, hasProgressed }
    const refusal = refusalIn(error)
    // Anything else is a fault of ours: no verdict on the prompt, which is tried again.
    if (!refusal) throw error
    return { last: [refusal], hasProgressed }
  }
}

/** What a runtime, or a part of ours that it asked, refuses for good; in their words, which are public. */
function refusalIn(error: unknown): NewEvent | undefined {
  if (error instanceof RuntimeFailure) return failed(error.type, error.message)
  const isFinal = error instanceof AppError && statusOfCode(error.code) < 500 && error.code !== 'rate_limited'
  return isFinal ? failed('model_request_failed_error', error.message) : undefined
}

/** What is stored with a batch besides its events: the provider's names, and questions to people. */
function alongside({ sessions, approvals }: RunDeps, held: HeldSession, { events, refs }: BatchParts) {
  const asked = events.flatMap(askedBy)
  if (!refs && asked.length === 0) return undefined
  return async (client: PoolClient) => {
    if (refs) await sessions.remember(client, held, refs)
    if (asked.length > 0) await approvals.open(client, held.sessionId, asked)
  }
}

const ended = [failed('model_request_failed_error', 'the runtime ended without a result')]

/** Every status event, and every end, names its prompt and its run. */
const stamped = (batch: readonly NewEvent[], promptId: string, runId: string): NewEvent[] =>
  batch.map(event =>
    endsRun(event) || event.type.startsWith('session.status_')
      ? { ...event, prompt_id: promptId, run_id: runId }
      : event,
  )

/** Marks the prompt as running and says so, unless an owner before us did. */
async function begin(
  { prompts, eventLog }: RunDeps,
  { held, prompt, isResumed }: Pick<RunTask, 'held' | 'prompt' | 'isResumed'>,
  runId: string,
): Promise<void> {
  if (prompt.state === 'running') {
    if (isResumed) await whileHeld(held, () => prompts.setResumes(prompt.id, prompt.resumes + 1))
    return
  }
  const running = { type: 'session.status_running', prompt_id: prompt.id, run_id: runId }
  await eventLog.append(held, [running], client => prompts.start(client, prompt.id, runId))
}

function refusalOf({ prompt, row, isResumed }: RunTask): readonly NewEvent[] | undefined {
  if (prompt.state === 'running' && isResumed && prompt.resumes >= maxResumes) {
    return [failed('unknown_error', `the prompt was cut off ${maxResumes + 1} times; it is not tried again`)]
  }
  if (row.next_seq > maxEvents || row.log_bytes > maxLogBytes) {
    return [failed('unknown_error', 'the log of this session is full; go on in a new session')]
  }
  return undefined
}

const promptStates = { completed: 'done', failed: 'error', cancelled: 'cancelled' } as const

interface RunEnd {
  readonly runId: string
  /** Ends in the event that ends the run. */
  readonly batch: readonly NewEvent[]
  readonly refs?: Partial<ProviderRefs> | undefined
  /** By default what the last event says. */
  readonly outcome?: Outcome
}

/** Stores the last events together with the state of the prompts and of the session. */
async function finish(
  deps: RunDeps,
  { held, prompt }: Pick<RunTask, 'held' | 'prompt'>,
  { runId, batch, refs, outcome }: RunEnd,
): Promise<void> {
  const { prompts, sessions, approvals, eventLog } = deps
  const reached = outcome ?? (batch.some(({ type }) => type === 'session.error') ? 'failed' : 'completed')
  const state = promptStates[reached]
  const joined = await whileHeld(held, () => prompts.joined(held.sessionId, prompt.id))
  const ends = promptsEnded(joined, { state, reason: reached === 'cancelled' ? 'interrupted' : 'steered' })
  const events = stamped([...batch.slice(0, -1), ...ends, ...batch.slice(-1)], prompt.id, runId)
  await eventLog.append(held, events, async client => {
    if (refs) await sessions.remember(client, held, refs)
    await approvals.close(client, held.sessionId)
    await prompts.finish(client, held.sessionId, state)
    await sessions.setOutcome(client, held, reached)
  })
}

interface RunPause extends RunEnd {
  readonly reached: BudgetReached
  readonly hasProgressed: boolean
}

/** Stores the last events, and puts the prompts of the run back to wait until their budgets have room. */
async function pause(deps: RunDeps, { held, prompt }: RunTask, end: RunPause): Promise<void> {
  const { pauses, sessions, eventLog } = deps
  const { runId, batch, refs, reached, hasProgressed } = end
  const { sessionId } = held
  await eventLog.append(held, stamped(batch, prompt.id, runId), async client => {
    if (refs) await sessions.remember(client, held, refs)
    await pauses.pause(client, { sessionId, needsUsd: reached.needed_usd, hasProgressed })
    await sessions.setOutcome(client, held, null)
  })
}
