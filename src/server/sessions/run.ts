import { endsRun, type NewEvent, type SessionEvent } from '../../contract/events.ts'
import { newId } from '../platform/ids.ts'
import type { Log } from '../platform/log.ts'
import { type Batch, failed, idle, type RunContext, type RunSession, type Runtime } from '../runtimes/runtime.ts'
import { type EventLog, FenceLost, whileHeld } from './event-log.ts'
import type { EventStore } from './event-store.ts'
import type { HeldSession } from './leases.ts'
import type { LiveEvents } from './live-events.ts'
import type { PromptStore, QueuedPrompt } from './prompt-store.ts'
import type { SessionRow, SessionStore } from './session-store.ts'

export interface RunDeps {
  readonly sessions: SessionStore
  readonly prompts: PromptStore
  readonly events: EventStore
  readonly eventLog: EventLog
  readonly live: LiveEvents
  readonly log: Log
  readonly isDraining: () => boolean
}

/** What one run works on. */
export interface RunTask {
  readonly held: HeldSession
  readonly row: SessionRow
  readonly session: RunSession
  readonly runtime: Runtime
  readonly prompt: QueuedPrompt
  /** Aborts when the process must end before the run does. */
  readonly shutdown: AbortSignal
}

type Outcome = 'completed' | 'failed' | 'cancelled'

/** A prompt that was cut off this often is given up. Reliability: Interrupted step. */
const maxResumes = 3
const historyPage = 500
/** A log at its cap takes no further run. Reliability: Events. */
const maxEvents = 50_000
const maxLogBytes = 50 * 1024 * 1024

/**
 * Runs one prompt to its end: stores what the runtime yields batch by batch, the last batch together with the state of the
 * prompt. Resolves without an end when the process drains; rejects with `FenceLost` when the session is not ours any more.
 */
export async function runPrompt(deps: RunDeps, task: RunTask): Promise<void> {
  const { held, prompt } = task
  const runId = prompt.run_id ?? newId('run')
  const stop = new AbortController()
  held.onStop = asked => {
    if (asked === runId) stop.abort()
  }
  if (prompt.stop_requested) stop.abort()
  const signal = AbortSignal.any([held.lost, task.shutdown, stop.signal])

  await begin(deps, task, runId)
  const refusal = refusalOf(task)
  // Also a run that does not go on gets its ends: a runtime that is told to stop at once closes what was cut off.
  const driven = await drive(deps, task, { signal: refusal ? AbortSignal.abort() : signal, runId })
  const end = refusal ?? driven
  if (held.lost.aborted) throw new FenceLost(held.sessionId)
  if (end) return finish(deps, task, { runId, batch: end })
  if (stop.signal.aborted) return finish(deps, task, { runId, batch: [stopped], outcome: 'cancelled' })
  if (deps.isDraining()) return
  return finish(deps, task, { runId, batch: ended })
}

/** Stores what the runtime yields. Its last batch, not yet stored; undefined when it was stopped before. */
async function drive(
  deps: RunDeps,
  { held, runtime, session, prompt }: RunTask,
  { signal, runId }: { signal: AbortSignal; runId: string },
): Promise<Batch | undefined> {
  try {
    const context = { signal, isDraining: deps.isDraining, ...contextOf(deps, held, runId) }
    for await (const batch of runtime.run(session, prompt, context)) {
      if (batch.some(event => endsRun(event))) return batch
      await deps.eventLog.append(held, batch)
    }
    return undefined
  } catch (error) {
    if (error instanceof FenceLost) throw error
    if (signal.aborted) return undefined
    deps.log.error({ err: error, session_id: held.sessionId, runtime: runtime.id }, 'a runtime threw')
    return [failed('unknown_error', 'the runtime failed; the log of the server has the cause')]
  }
}

const ended: Batch = [failed('unknown_error', 'the runtime ended without a result')]

const stopped: NewEvent = idle(
  { type: 'end_turn' },
  { type: 'interrupted', message: 'stopped on request; what was running was cut off' },
)

const stampLast = (batch: Batch, promptId: string, runId: string): NewEvent[] =>
  batch.map(event => (endsRun(event) ? { ...event, prompt_id: promptId, run_id: runId } : event))

/** Marks the prompt as running and says so, unless an owner before us did. */
async function begin({ prompts, eventLog }: RunDeps, { held, prompt }: RunTask, runId: string): Promise<void> {
  if (prompt.state === 'running') {
    if (held.wasAbandoned) await whileHeld(held, () => prompts.countResume(prompt.id))
    return
  }
  const running = { type: 'session.status_running', prompt_id: prompt.id, run_id: runId }
  await eventLog.append(held, [running], client => prompts.start(client, prompt.id, runId))
}

function refusalOf({ held, prompt, row }: RunTask): Batch | undefined {
  if (prompt.state === 'running' && held.wasAbandoned && prompt.resumes >= maxResumes) {
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
  readonly batch: Batch
  /** By default what the last event says. */
  readonly outcome?: Outcome
}

/** Stores the last events together with the state of the prompts and of the session. */
async function finish(deps: RunDeps, { held, prompt }: RunTask, { runId, batch, outcome }: RunEnd): Promise<void> {
  const { prompts, sessions, eventLog } = deps
  const reached = outcome ?? (batch.some(({ type }) => type === 'session.error') ? 'failed' : 'completed')
  await eventLog.append(held, stampLast(batch, prompt.id, runId), async client => {
    await prompts.finish(client, held.sessionId, promptStates[reached])
    await sessions.setOutcome(client, held, reached)
  })
}

function contextOf(
  { prompts, events, live }: RunDeps,
  held: HeldSession,
  runId: string,
): Pick<RunContext, 'history' | 'prompts' | 'preview'> {
  const previewed = new Set<string>()
  return {
    history: () => historyOf(events, held),
    prompts: () => whileHeld(held, () => prompts.join(held, runId)),
    preview(eventId, text) {
      if (!previewed.has(eventId)) {
        previewed.add(eventId)
        live.preview(held.sessionId, { type: 'event_start', event: { id: eventId, type: 'agent.message' } })
      }
      const delta = { type: 'content_delta', content: { type: 'text', text } }
      live.preview(held.sessionId, { type: 'event_delta', event_id: eventId, delta })
    },
  }
}

async function* historyOf(events: EventStore, held: HeldSession): AsyncGenerator<SessionEvent> {
  for (let after = 0; ; ) {
    const page = await whileHeld(held, () => events.page(held.sessionId, after, historyPage))
    yield* page
    if (page.length < historyPage) return
    after = page.at(-1)?.seq ?? after
  }
}
