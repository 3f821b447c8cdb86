import { statusOfCode } from '../../../contract/errors.ts'
import { askedBy, budgetReached, endsRun, type NewEvent, type SessionEvent } from '../../../contract/events.ts'
import type { Freezes } from '../../controls/freezes.ts'
import { AppError } from '../../platform/errors.ts'
import { newId } from '../../platform/ids.ts'
import type { Log } from '../../platform/log.ts'
import {
  type BatchParts,
  failed,
  idle,
  type ProviderRefs,
  partsOf,
  type RunContext,
  type RunSession,
  type Runtime,
  RuntimeFailure,
  stopped,
} from '../../runtimes/runtime.ts'
import type { Workspaces } from '../../workspaces/workspaces.ts'
import { type EventLog, FenceLost, whileHeld } from '../log/event-log.ts'
import type { EventStore, Queryable } from '../log/event-store.ts'
import type { EndedPrompt } from '../queue/prompt-ended.ts'
import type { QueuedPrompt } from '../queue/prompt-store.ts'
import type { RunRow } from '../session-row.ts'
import type { PauseStore } from '../waits/pause-store.ts'
import { toldOfPast } from './forked-past.ts'
import type { HeldSession } from './leases.ts'
import { type RunClock, startRunClock } from './run-clock.ts'
import { type ContextDeps, contextOf, type OneRun } from './run-context.ts'
import { finish, pause, type RunEnd, stamped } from './run-end.ts'
import type { RunStore } from './run-store.ts'
import { type MoveDeps, readyWorkspace } from './workspace-move.ts'
import { type StepFiles, WorkspaceSteps } from './workspace-steps.ts'

export interface RunDeps extends ContextDeps, Pick<MoveDeps, 'folderId'> {
  readonly workspaces: Pick<Workspaces, 'restore' | 'capture'>
  readonly events: Pick<EventStore, 'list'>
  /** A log that has reached it takes no further run. */
  readonly logCap: { readonly events: number; readonly bytes: number }
  /** Aborts when the process wants to hand its sessions over. */
  readonly draining: AbortSignal
  readonly pauses: PauseStore
  readonly runs: RunStore
  /** Whose spending is frozen; absent where nothing can be. */
  readonly freezes?: Pick<Freezes, 'isAny' | 'stopOf'>
  readonly eventLog: EventLog
  readonly log: Log
}

/** What one run works on. */
export interface RunTask {
  readonly held: HeldSession
  readonly row: RunRow
  readonly session: RunSession
  readonly runtime: Runtime
  readonly prompt: QueuedPrompt
  /** An owner before us was cut off in the middle of this prompt. */
  readonly isResumed: boolean
  /** Aborts when the process must end before the run does. */
  readonly shutdown: AbortSignal
}

/** A prompt that was cut off this often is given up. Reliability: Interrupted step. */
const maxResumes = 3

/**
 * Runs one prompt to its end, or until a budget stops it: stores what the runtime yields batch by batch, the last batch
 * together with the state of the prompt. Resolves without an end when the process drains or the run waits; true when the lease was
 * given back, since nothing is left to do. Rejects with `FenceLost` when the session is not ours any more, and with any other
 * error for a fault of ours: the prompt is then neither ended nor at fault, and can be run again.
 */
export async function runPrompt(deps: RunDeps, task: RunTask): Promise<boolean> {
  const { held, prompt } = task
  const runId = prompt.run_id ?? newId('run')
  const stop = stopOf(task, runId)

  await begin(deps, task, runId)
  const verdict = refusalOf(deps, task)
  if (!verdict) await readyWorkspace(deps, task)
  const refusal = verdict ?? (await frozenBy(deps, task))
  const limitSeconds = limitOf(task.session)
  const clock = startRunClock({ limitSeconds, ranMs: prompt.ran_ms })
  const signal = AbortSignal.any([held.lost, task.shutdown, stop.signal, clock.signal])
  // Files that were not brought to the last checkpoint are none.
  const steps = new WorkspaceSteps(deps, verdict ? { ...task, runtime: {} } : task)
  // Also a run that does not go on gets its ends: a runtime that is told to stop at once closes what was cut off.
  const isStopped = () => stop.signal.aborted || clock.signal.aborted
  let isParked = false
  const onPark = () => {
    isParked = true
  }
  let joined: readonly EndedPrompt[] | undefined
  const onPrompts = (all: readonly EndedPrompt[]) => {
    joined = all.filter(({ id }) => id !== prompt.id)
  }
  const aborted = refusal ? AbortSignal.abort() : signal
  const driving = drive(deps, task, { signal: aborted, isStopped, runId, clock, onPark, onPrompts, steps })
  const driven = await driving.finally(clock.end)
  if (held.lost.aborted) throw new FenceLost(held.sessionId)
  const end = refusal ?? driven.last
  const reached = end?.map(budgetReached).find(Boolean)
  if (isParked || reached) await noteRunTime(deps, task, clock)
  const isWaiting = isParked || deps.draining.aborted
  const over = end
    ? { batch: end, refs: driven.refs }
    : endOf({ isStopped: stop.signal.aborted, isLate: clock.signal.aborted, isWaiting, limitSeconds })
  if (!over) return false
  const run = { runId, joined, files: await steps.atEnd(), ...over }
  return reached ? pause(deps, task, { ...driven, ...run, reached }) : finish(deps, task, run)
}

interface Cut {
  readonly isStopped: boolean
  readonly isLate: boolean
  readonly isWaiting: boolean
  readonly limitSeconds: number
}

/** How a run ends whose runtime has said no end; undefined when it goes on later. */
function endOf({ isStopped, isLate, isWaiting, limitSeconds }: Cut): Pick<RunEnd, 'batch' | 'outcome'> | undefined {
  if (isStopped) return { batch: [stopped], outcome: 'cancelled' }
  if (isLate) return { batch: [outOfTime(limitSeconds)] }
  return isWaiting ? undefined : { batch: ended }
}

/** Aborts when somebody asks for the end of the run. */
function stopOf({ held, prompt }: RunTask, runId: string): AbortController {
  const stop = new AbortController()
  held.onStop = asked => {
    if (asked === runId) stop.abort()
  }
  if (prompt.stop_requested) stop.abort()
  return stop
}

/** Only runs with a time limit need to know it. */
async function noteRunTime({ prompts }: RunDeps, { held, prompt, session }: RunTask, clock: RunClock): Promise<void> {
  if (limitOf(session) > 0) await whileHeld(held, () => prompts.addRunTime(held, clock.ranMs() - prompt.ran_ms))
}

/** Ends a prompt that met the same fault of ours again and again. */
export async function giveUp(deps: RunDeps, task: Pick<RunTask, 'held' | 'prompt'>, fault: unknown): Promise<boolean> {
  const runId = task.prompt.run_id ?? newId('run')
  await begin(deps, { ...task, isResumed: false }, runId)
  return finish(deps, task, { runId, batch: [endBy(fault)] })
}

/** Refusals of ours have public words; of anything else the log alone has the cause. */
function endBy(fault: unknown): NewEvent {
  if (fault instanceof AppError && fault.code !== 'internal') return failed('model_request_failed_error', fault.message)
  const message = 'internal error: the prompt could not be run; see the log of the server, or send the prompt again'
  return failed('unknown_error', message)
}

/** Of the agent, in seconds; 0 without any. */
const limitOf = ({ config }: RunSession): number => Number(config['time_limit_seconds'] ?? 0)

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
  task: RunTask,
  run: Pick<RunContext, 'signal' | 'isStopped' | 'runId'> &
    Pick<OneRun, 'clock' | 'onPark' | 'onPrompts'> & { readonly steps: WorkspaceSteps },
): Promise<Driven> {
  const { held, runtime, session, prompt } = task
  const { signal, isStopped, runId } = run
  let hasProgressed = false
  try {
    const past = await toldOfPast(deps, task)
    const context = {
      runId,
      signal,
      isStopped,
      isDraining: () => deps.draining.aborted,
      ...contextOf({ ...deps, history: past.history }, held, { ...run, prompt, runtime, draining: deps.draining }),
    }
    for await (const batch of runtime.run(session, past.prompt, context)) {
      const { events: told, refs } = partsOf(batch)
      const events = stamped(told, prompt.id, runId)
      if (events.some(event => endsRun(event))) return { last: events, refs, hasProgressed }
      const files = await run.steps.with(events)
      if (events.length > 0)
        await deps.eventLog.append(held, [...events, ...files.told], alongside(deps, held, { events, refs, files }))
      else if (refs) await context.remember(refs)
      await files.done()
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

/** What is stored with a batch besides its events: the provider's names, questions to people, and the files of the step. */
function alongside(
  { sessions, approvals }: RunDeps,
  held: HeldSession,
  { events, refs, files }: BatchParts & { readonly files: StepFiles },
) {
  const asked = events.flatMap(askedBy)
  if (!refs && asked.length === 0 && !files.commit) return undefined
  return async (client: Queryable, stored: readonly SessionEvent[]) => {
    if (refs) await sessions.remember(client, held, refs)
    if (asked.length > 0) await approvals.open(client, held.sessionId, asked)
    await files.commit?.(client, stored)
  }
}

const ended = [failed('model_request_failed_error', 'the runtime ended without a result')]

/** Marks the prompt as running and says so, unless an owner before us did, or that was done with the lease. */
async function begin(
  { prompts, runs, eventLog }: RunDeps,
  { held, prompt, isResumed }: Pick<RunTask, 'held' | 'prompt' | 'isResumed'>,
  runId: string,
): Promise<void> {
  if (held.begun) {
    held.begun = undefined
    return
  }
  if (prompt.state === 'running') {
    if (isResumed) await whileHeld(held, () => prompts.setResumes(prompt.id, prompt.resumes + 1))
    return
  }
  const running = { type: 'session.status_running', prompt_id: prompt.id, run_id: runId }
  await eventLog.appendBy(held, [running], (events, on) => runs.begin(held, { promptId: prompt.id, runId }, events, on))
}

function refusalOf({ logCap }: RunDeps, { prompt, row, isResumed }: RunTask): readonly NewEvent[] | undefined {
  if (prompt.state === 'running' && isResumed && prompt.resumes >= maxResumes) {
    return [failed('unknown_error', `the prompt was cut off ${maxResumes + 1} times; it is not tried again`)]
  }
  if (row.next_seq > logCap.events || row.log_bytes > logCap.bytes) {
    return [failed('unknown_error', 'the log of this session is full; go on in a new session')]
  }
  return undefined
}

/** Runtimes of providers spend without a model call of ours, so that the run itself must wait. */
async function frozenBy({ freezes, keys }: RunDeps, { held, prompt, row }: RunTask): Promise<NewEvent[] | undefined> {
  if (!freezes?.isAny) return undefined
  const { key_id } = prompt
  const holder = key_id === null ? undefined : await whileHeld(held, async () => keys.byId(key_id))
  const ownerOfKey = holder && holder.principal !== key_id ? holder.principal : undefined
  const ids = key_id === null ? [] : [key_id, ...(holder?.key.ancestors ?? [])]
  const stop = freezes.stopOf({ keys: ids, owner: row.owner_id || ownerOfKey })
  return stop && [idle(stop.reached, { type: 'budget_reached', message: stop.message })]
}
