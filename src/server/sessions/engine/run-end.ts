import { type BudgetReached, endsRun, type NewEvent } from '../../../contract/events.ts'
import type { ProviderRefs } from '../../runtimes/runtime.ts'
import { type EventLog, whileHeld } from '../log/event-log.ts'
import type { NamedEvent, Queryable } from '../log/event-store.ts'
import { type EndedPrompt, promptsEnded } from '../queue/prompt-ended.ts'
import type { PromptStore, QueuedPrompt } from '../queue/prompt-store.ts'
import type { SessionStore } from '../session-store.ts'
import type { PauseStore } from '../waits/pause-store.ts'
import type { HeldSession } from './leases.ts'
import type { RunStore } from './run-store.ts'
import type { StepFiles } from './workspace-steps.ts'

interface EndDeps {
  readonly prompts: PromptStore
  readonly sessions: SessionStore
  readonly runs: RunStore
  readonly eventLog: EventLog
  readonly pauses: PauseStore
}

/** The prompt whose run ends. */
interface Ending {
  readonly held: HeldSession
  readonly prompt: QueuedPrompt
}

type Outcome = 'completed' | 'failed' | 'cancelled'

/** Every status event, and every end, names its prompt and its run. */
export const stamped = (batch: readonly NewEvent[], promptId: string, runId: string): NewEvent[] =>
  batch.map(event =>
    endsRun(event) || event.type.startsWith('session.status_')
      ? { ...event, prompt_id: promptId, run_id: runId }
      : event,
  )

const promptStates = { completed: 'done', failed: 'error', cancelled: 'cancelled' } as const

/** How a run ends. */
export interface RunEnd {
  readonly runId: string
  /** Ends in the event that ends the run. */
  readonly batch: readonly NewEvent[]
  readonly refs?: Partial<ProviderRefs> | undefined
  /** As they are at the end of the run. */
  readonly files?: StepFiles | undefined
  /** Prompts that joined the run; undefined: not known, the table is asked. */
  readonly joined?: readonly EndedPrompt[] | undefined
  /** By default what the last event says. */
  readonly outcome?: Outcome | undefined
}

/** Stores the last events together with the state of the prompts and of the session; true when the lease was given back. */
export async function finish(
  deps: EndDeps,
  { held, prompt }: Ending,
  { runId, batch, refs, outcome, files, joined: known }: RunEnd,
): Promise<boolean> {
  const { prompts, sessions, runs, eventLog } = deps
  const reached = outcome ?? (batch.some(({ type }) => type === 'session.error') ? 'failed' : 'completed')
  const state = promptStates[reached]
  const joined = known ?? (await whileHeld(held, () => prompts.joined(held.sessionId, prompt.id)))
  const ends = promptsEnded(joined, { state, reason: reached === 'cancelled' ? 'interrupted' : 'steered' })
  const warnings = files?.told ?? []
  const events = stamped([...batch.slice(0, -1), ...warnings, ...ends, ...batch.slice(-1)], prompt.id, runId)
  let isReleased = false
  const end = async (named: readonly NamedEvent[], on: Queryable) => {
    if (refs) await sessions.remember(on, held, refs)
    const stored = await runs.end(held, { state, outcome: reached }, named, on)
    isReleased = stored.isReleased
    if (stored.events) await files?.commit?.(on, stored.events)
    return stored.events
  }
  await eventLog.appendBy(held, events, end, refs === undefined && !files?.commit)
  await files?.done()
  return isReleased
}

interface RunPause extends RunEnd {
  readonly reached: BudgetReached
  readonly hasProgressed: boolean
}

/** Stores the last events, and puts the prompts of the run back to wait until their budgets have room, or a freeze is lifted. */
export async function pause(deps: EndDeps, { held, prompt }: Ending, end: RunPause): Promise<false> {
  const { pauses, sessions, eventLog } = deps
  const { runId, batch, refs, reached, hasProgressed, files } = end
  const { sessionId } = held
  const events = stamped([...(files?.told ?? []), ...batch], prompt.id, runId)
  await eventLog.append(held, events, async (client, stored) => {
    if (refs) await sessions.remember(client, held, refs)
    const kind = reached.is_frozen ? 'freeze' : 'budget'
    await pauses.pause(client, { sessionId, kind, budget: reached, needsUsd: reached.needed_usd, hasProgressed })
    await sessions.setOutcome(client, held, null)
    await files?.commit?.(client, stored)
  })
  await files?.done()
  return false
}
