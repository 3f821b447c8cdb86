import { statusOfCode } from '../../../contract/error-codes.ts'
import { budgetReached, endsRun, type NewEvent } from '../../../contract/events.ts'
import type { Freezes } from '../../controls/freezes.ts'
import { AppError } from '../../platform/errors.ts'
import { newId } from '../../platform/ids.ts'
import type { Log } from '../../platform/log.ts'
import { contextOf } from '../../platform/trace-context.ts'
import {
  failed,
  idle,
  type ProviderRefs,
  partsOf,
  type RunContext,
  type RunSession,
  type Runtime,
  RuntimeFailure,
  stopped,
  unusableKeyEvent,
} from '../../runtimes/runtime.ts'
import type { Telemetry, TracedRun } from '../../telemetry/telemetry.ts'
import { subagentEntries } from '../../tools/subagents.ts'
import type { Workspaces } from '../../workspaces/workspaces.ts'
import { type EventLog, FenceLost, whileLeased } from '../log/event-log.ts'
import type { EventStore } from '../log/event-store.ts'
import type { EndedPrompt } from '../queue/prompt-ended.ts'
import type { QueuedPrompt } from '../queue/prompt-store.ts'
import type { RunRow } from '../session-row.ts'
import type { PauseStore } from '../waits/pause-store.ts'
import { batchWrites } from './batch-writes.ts'
import { runInputOf } from './forked-input.ts'
import type { LeasedSession } from './leases.ts'
import { createPlacement, type PlacementDeps } from './prompt-file-placement.ts'
import { type RunClock, startRunClock } from './run-clock.ts'
import { type ContextDeps, type OneRun, contextOf as runContextOf } from './run-context.ts'
import { finish, pause, type RunEnd, stamped } from './run-end.ts'
import type { RunStore } from './run-store.ts'
import { type MoveDeps, readyWorkspace } from './workspace-move.ts'
import { WorkspaceSteps } from './workspace-steps.ts'

export interface RunDeps extends ContextDeps, PlacementDeps, Pick<MoveDeps, 'folderId'> {
  readonly workspaces: Pick<Workspaces, 'restore' | 'capture'>
  readonly events: Pick<EventStore, 'list'>
  /** A session whose log has reached this size starts no further run. */
  readonly logCap: { readonly events: number; readonly bytes: number }
  /** Aborts when the process starts to hand its sessions over. */
  readonly draining: AbortSignal
  readonly pauses: PauseStore
  /** Called when a run of a session that calls agents, or of a called one, has ended or a budget has stopped it. */
  readonly onStopped: (sessionId: string) => void
  readonly runs: RunStore
  /** Active spending freezes; absent where freezing is not available. */
  readonly freezes?: Pick<Freezes, 'isAny' | 'stopOf'>
  readonly eventLog: EventLog
  readonly log: Log
  /** Called when a run starts or continues here, and when prompts have joined it. */
  readonly ran: Telemetry['ran']
}

/** The work of one run. */
export interface RunTask {
  readonly leased: LeasedSession
  readonly row: RunRow
  readonly session: RunSession
  readonly runtime: Runtime
  readonly prompt: QueuedPrompt
  /** The previous owner was interrupted during this prompt. */
  readonly isResumed: boolean
  /** Aborts when the process must exit before the run ends. */
  readonly shutdown: AbortSignal
}

/** A prompt that was interrupted more often than this fails. */
const maxResumes = 3

/**
 * Runs one prompt until it ends or a budget stops it. Stores what the runtime yields batch by batch, the last batch
 * together with the state of the prompt. Resolves without an end when the process drains or the run waits, and with
 * true when the lease was released because no work is left. Rejects with `FenceLost` when another process owns the
 * session, and with any other error on an internal fault, after which the prompt can be retried.
 */
export async function runPrompt(deps: RunDeps, task: RunTask): Promise<boolean> {
  const { leased, prompt } = task
  const runId = prompt.run_id ?? newId('run')
  const stop = stopOf(task, runId)

  await begin(deps, task, runId)
  const rejection = rejectionOf(deps, task)
  if (!rejection) await readyWorkspace(deps, task)
  const earlyEnd = rejection ?? (await stoppedBy(deps, task))
  const limitSeconds = limitOf(task.session)
  const clock = startRunClock({ limitSeconds, ranMs: prompt.ran_ms })
  const signal = AbortSignal.any([leased.lost, task.shutdown, stop.signal, clock.signal])
  // Without restored files there is nothing to checkpoint.
  const steps = new WorkspaceSteps(deps, rejection ? { ...task, runtime: {} } : task)
  // A rejected or stopped run still reaches the runtime, which then closes open calls.
  const isStopped = () => stop.signal.aborted || clock.signal.aborted
  let isParked = false
  const onPark = () => {
    isParked = true
  }
  let joined: readonly EndedPrompt[] | undefined
  const onPrompts = (all: readonly QueuedPrompt[]) => {
    const others = all.filter(({ id }) => id !== prompt.id)
    if (others.length > (joined?.length ?? 0)) deps.ran(tracedRun(task, runId, others))
    joined = others
  }
  const aborted = earlyEnd ? AbortSignal.abort() : signal
  const hasWorkspace = !rejection
  const driving = drive(deps, task, {
    signal: aborted,
    isStopped,
    runId,
    clock,
    onPark,
    onPrompts,
    steps,
    hasWorkspace,
  })
  const driven = await driving.finally(() => {
    clock.end()
    deps.live.endPreviews(leased.sessionId)
  })
  if (leased.lost.aborted) throw new FenceLost(leased.sessionId)
  const end = earlyEnd ?? driven.last
  const reached = end?.map(budgetReached).find(Boolean)
  if (isParked || reached) await storeRunTime(deps, task, clock)
  const isWaiting = isParked || deps.draining.aborted
  const over = end
    ? { batch: end, refs: driven.refs }
    : endOf({ isStopped: stop.signal.aborted, isLate: clock.signal.aborted, isWaiting, limitSeconds })
  if (!over) return handOver(deps, task, isParked)
  const run = { runId, joined, files: await steps.atEnd(), ...over }
  const isReleased = reached ? await pause(deps, task, { ...driven, ...run, reached }) : await finish(deps, task, run)
  if (isRelated(task)) deps.onStopped(leased.sessionId)
  return isReleased
}

/** Leaves the run to the next owner of its session. */
function handOver({ onStopped }: RunDeps, task: RunTask, isParked: boolean): false {
  if (isParked && isRelated(task)) onStopped(task.leased.sessionId)
  return false
}

/** True for a session that calls agents, or was started by such a call. */
const isRelated = ({ row, session }: RunTask): boolean =>
  row.ancestors.length > 0 || subagentEntries(session.config).length > 0

interface Cut {
  readonly isStopped: boolean
  readonly isLate: boolean
  readonly isWaiting: boolean
  readonly limitSeconds: number
}

/** Returns how a run ends whose runtime yielded no end event; undefined when it continues later. */
function endOf({ isStopped, isLate, isWaiting, limitSeconds }: Cut): Pick<RunEnd, 'batch' | 'outcome'> | undefined {
  if (isStopped) return { batch: [stopped], outcome: 'cancelled' }
  if (isLate) return { batch: [outOfTime(limitSeconds)] }
  return isWaiting ? undefined : { batch: ended }
}

/** Returns a controller that aborts on a request to stop the run. */
function stopOf({ leased, prompt }: RunTask, runId: string): AbortController {
  const stop = new AbortController()
  leased.onStop = asked => {
    if (asked === runId) stop.abort()
  }
  if (prompt.stop_requested) stop.abort()
  return stop
}

/** Stores the working time of the run. Only runs with a time limit need it. */
async function storeRunTime(
  { prompts }: RunDeps,
  { leased, prompt, session }: RunTask,
  clock: RunClock,
): Promise<void> {
  if (limitOf(session) > 0) await whileLeased(leased, () => prompts.addRunTime(leased, clock.ranMs() - prompt.ran_ms))
}

/** Ends a prompt that failed repeatedly with an internal fault. */
export async function giveUp(
  deps: RunDeps,
  task: Pick<RunTask, 'leased' | 'prompt'>,
  fault: unknown,
): Promise<boolean> {
  const runId = task.prompt.run_id ?? newId('run')
  await begin(deps, { ...task, isResumed: false }, runId)
  return finish(deps, task, { runId, batch: [endBy(fault)] })
}

/** Only an `AppError` has a public message; the cause of any other fault is in the server log. */
function endBy(fault: unknown): NewEvent {
  if (fault instanceof AppError && fault.code !== 'internal') return failed('model_request_failed_error', fault.message)
  const message = 'internal error: cannot run the prompt; see the server log, or send the prompt again'
  return failed('unknown_error', message)
}

/** Time limit of the agent in seconds; 0 means none. */
const limitOf = ({ config }: RunSession): number => Number(config['time_limit_seconds'] ?? 0)

const outOfTime = (seconds: number): NewEvent =>
  failed('unknown_error', `run exceeded the time limit of its agent (${seconds} s); send a prompt to continue`)

/** Result of driving a runtime. */
interface Driven {
  /** The last batch, not yet stored; undefined when the run was stopped before it. */
  readonly last: readonly NewEvent[] | undefined
  /** Provider ids in the last batch. */
  readonly refs?: Partial<ProviderRefs> | undefined
  /** True when the model or a tool produced output. */
  readonly hasProgressed: boolean
}

/** Stores everything that the runtime yields except its last batch. */
async function drive(
  deps: RunDeps,
  task: RunTask,
  run: Pick<RunContext, 'signal' | 'isStopped' | 'runId'> &
    Pick<OneRun, 'clock' | 'onPark' | 'onPrompts'> & { readonly steps: WorkspaceSteps; readonly hasWorkspace: boolean },
): Promise<Driven> {
  const { leased, runtime, session, prompt } = task
  const { signal, isStopped, runId } = run
  let hasProgressed = false
  try {
    const input = await runInputOf(deps, task)
    const place = createPlacement(deps, {
      leased,
      runtime: run.hasWorkspace ? runtime : {},
      onWrite: () => run.steps.touch(),
    })
    await place([prompt])
    const context = {
      runId,
      signal,
      isStopped,
      isDraining: () => deps.draining.aborted,
      ...runContextOf({ ...deps, history: input.history }, leased, {
        ...run,
        prompt,
        runtime,
        session,
        place,
        ancestors: task.row.ancestors,
        draining: deps.draining,
      }),
    }
    for await (const batch of runtime.run(session, input.prompt, context)) {
      const { events: yielded, refs } = partsOf(batch)
      const events = stamped(yielded, prompt.id, runId)
      if (events.some(event => endsRun(event))) return { last: events, refs, hasProgressed }
      const files = await run.steps.with(events)
      if (events.length > 0)
        await deps.eventLog.append(
          leased,
          [...events, ...files.warnings],
          batchWrites(deps, task, { events, refs, files }),
        )
      else if (refs) await context.saveRefs(refs)
      await files.done()
      hasProgressed ||= events.some(({ type }) => type.startsWith('agent.'))
    }
    return { last: undefined, hasProgressed }
  } catch (error) {
    if (error instanceof FenceLost) throw error
    if (signal.aborted) return { last: undefined, hasProgressed }
    const failure = permanentFailureOf(error)
    // Any other error is an internal fault, which does not end the prompt: it is retried.
    if (!failure) throw error
    return { last: [failure], hasProgressed }
  }
}

/**
 * Returns the event for a permanent error of the runtime or of our own code, with its public message; else undefined.
 */
function permanentFailureOf(error: unknown): NewEvent | undefined {
  if (error instanceof RuntimeFailure) return failed(error.type, error.message)
  const isFinal = error instanceof AppError && statusOfCode(error.code) < 500 && error.code !== 'rate_limited'
  return isFinal ? failed('model_request_failed_error', error.message) : undefined
}

const ended = [failed('model_request_failed_error', 'runtime ended without a result')]

/** Marks the prompt as running and logs that, unless a previous owner or the acquisition of the lease already did. */
async function begin(
  { prompts, runs, eventLog, ran }: RunDeps,
  { leased, prompt, isResumed }: Pick<RunTask, 'leased' | 'prompt' | 'isResumed'>,
  runId: string,
): Promise<void> {
  ran(tracedRun({ leased, prompt }, runId, []))
  if (leased.begun) {
    leased.begun = undefined
    return
  }
  if (prompt.state === 'running') {
    if (isResumed) await whileLeased(leased, () => prompts.setResumes(prompt.id, prompt.resumes + 1))
    return
  }
  const running = { type: 'session.status_running', prompt_id: prompt.id, run_id: runId } as const
  await eventLog.appendBy(leased, [running], (events, on) =>
    runs.begin(leased, { promptId: prompt.id, runId }, events, on),
  )
}

/** Returns the run with the trace contexts of its prompt and of those that have joined it. */
const tracedRun = (
  { leased, prompt }: Pick<RunTask, 'leased' | 'prompt'>,
  runId: string,
  joined: readonly QueuedPrompt[],
): TracedRun => ({
  sessionId: leased.sessionId,
  runId,
  requests: [prompt, ...joined].map(({ traceparent, tracestate }) => contextOf({ traceparent, tracestate })),
})

function rejectionOf({ logCap }: RunDeps, { prompt, row, isResumed }: RunTask): readonly NewEvent[] | undefined {
  if (prompt.state === 'running' && isResumed && prompt.resumes >= maxResumes) {
    return [failed('unknown_error', `prompt was interrupted ${maxResumes + 1} times and is not retried`)]
  }
  if (row.next_seq > logCap.events || row.log_bytes > logCap.bytes) {
    return [failed('unknown_error', 'session log is full; continue in a new session')]
  }
  return undefined
}

/**
 * Returns the end of a run whose key is not valid for work or whose payer is frozen. Needed because runtimes of
 * providers spend without a model call of ours.
 */
async function stoppedBy(
  { freezes, keys }: RunDeps,
  { leased, prompt, row }: RunTask,
): Promise<NewEvent[] | undefined> {
  const { key_id } = prompt
  const holder = key_id === null ? undefined : await whileLeased(leased, async () => keys.workerById(key_id))
  if (key_id !== null && !holder) return [unusableKeyEvent]
  if (!freezes?.isAny) return undefined
  const ownerOfKey = holder && holder.principal !== key_id ? holder.principal : undefined
  const ids = key_id === null ? [] : [key_id, ...(holder?.key.ancestors ?? [])]
  const stop = freezes.stopOf({ keys: ids, owner: row.owner_id || ownerOfKey })
  return stop && [idle(stop.reached, { type: 'budget_reached', message: stop.message })]
}
