import { type BudgetReached, endsRun, type NewEvent } from '../../../contract/events.ts'
import type { ProviderRefs } from '../../runtimes/runtime.ts'
import { type EventLog, whileLeased } from '../log/event-log.ts'
import type { NamedEvent, Queryable } from '../log/event-store.ts'
import { outcomeChange } from '../queue/outcome-state.ts'
import { type EndedPrompt, promptsEnded } from '../queue/prompt-ended.ts'
import type { PromptStore, QueuedPrompt } from '../queue/prompt-store.ts'
import type { SessionStore } from '../session-store.ts'
import type { PauseStore } from '../waits/pause-store.ts'
import type { LeasedSession } from './leases.ts'
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
  readonly leased: LeasedSession
  readonly prompt: QueuedPrompt
}

type Outcome = 'completed' | 'failed' | 'cancelled'

type Stamped = Extract<NewEvent, { readonly type: `session.status_${string}` | 'session.error' }>

/** A run never emits `session.deleted`, the only end without these ids. */
const isStamped = (event: NewEvent): event is Stamped => endsRun(event) || event.type.startsWith('session.status_')

/** Adds the ids of prompt and run to every status event and every end event. */
export const stamped = (batch: readonly NewEvent[], promptId: string, runId: string): NewEvent[] =>
  batch.map(event => (isStamped(event) ? { ...event, prompt_id: promptId, run_id: runId } : event))

const promptStates = { completed: 'done', failed: 'error', cancelled: 'cancelled' } as const

/** How a run ends. */
export interface RunEnd {
  readonly runId: string
  /** Its last event is the one that ends the run. */
  readonly batch: readonly NewEvent[]
  readonly refs?: Partial<ProviderRefs> | undefined
  /** Files at the end of the run. */
  readonly files?: StepFiles | undefined
  /** Prompts that joined the run; undefined means unknown, so the table is read. */
  readonly joined?: readonly EndedPrompt[] | undefined
  /** By default derived from the batch. */
  readonly outcome?: Outcome | undefined
}

/** Stores the last events together with the state of prompts and session. Returns true when the lease was released. */
export async function finish(
  deps: EndDeps,
  { leased, prompt }: Ending,
  { runId, batch, refs, outcome, files, joined: known }: RunEnd,
): Promise<boolean> {
  const { prompts, sessions, runs, eventLog } = deps
  const reached = outcome ?? (batch.some(({ type }) => type === 'session.error') ? 'failed' : 'completed')
  const state = promptStates[reached]
  const joined = known ?? (await whileLeased(leased, () => prompts.joined(leased.sessionId, prompt.id)))
  const ends = promptsEnded(joined, { state, reason: reached === 'cancelled' ? 'interrupted' : 'steered' })
  const warnings = files?.warnings ?? []
  const events = stamped([...batch.slice(0, -1), ...warnings, ...ends, ...batch.slice(-1)], prompt.id, runId)
  const evaluated = outcomeChange(batch)
  let isReleased = false
  const end = async (named: readonly NamedEvent[], on: Queryable) => {
    if (refs) await sessions.storeRefs(on, leased, refs)
    if (evaluated) await prompts.setOutcomeState(on, prompt.id, evaluated)
    const stored = await runs.end(leased, { state, outcome: reached }, named, on)
    isReleased = stored.isReleased
    if (stored.events) await files?.commit?.(on, stored.events)
    return stored.events
  }
  await eventLog.appendBy(leased, events, end, refs === undefined && !evaluated && !files?.commit)
  await files?.done()
  return isReleased
}

interface RunPause extends RunEnd {
  readonly reached: BudgetReached
  readonly hasProgressed: boolean
}

/**
 * Stores the last events and returns the run's prompts to the queue until their budgets have room or a freeze is
 * lifted.
 */
export async function pause(deps: EndDeps, { leased, prompt }: Ending, end: RunPause): Promise<false> {
  const { pauses, sessions, eventLog } = deps
  const { runId, batch, refs, reached, hasProgressed, files } = end
  const { sessionId } = leased
  const events = stamped([...(files?.warnings ?? []), ...batch], prompt.id, runId)
  await eventLog.append(leased, events, async (client, stored) => {
    if (refs) await sessions.storeRefs(client, leased, refs)
    const kind = reached.is_frozen ? 'freeze' : 'budget'
    await pauses.pause(client, { sessionId, kind, budget: reached, needsUsd: reached.needed_usd, hasProgressed })
    await sessions.setOutcome(client, leased, null)
    await files?.commit?.(client, stored)
  })
  await files?.done()
  return false
}
