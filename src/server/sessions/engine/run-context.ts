import type { SessionEvent } from '../../../contract/events.ts'
import type { Keys } from '../../keys/keys.ts'
import type { Decision, RunContext, Runtime } from '../../runtimes/runtime.ts'
import { FenceLost, whileHeld } from '../log/event-log.ts'
import type { HistoryCache } from '../log/history-cache.ts'
import type { HistoryStore } from '../log/history-store.ts'
import type { LiveEvents } from '../log/live-events.ts'
import type { EndedPrompt } from '../queue/prompt-ended.ts'
import type { PromptStore } from '../queue/prompt-store.ts'
import type { SessionStore } from '../session-store.ts'
import type { ApprovalStore } from '../waits/approval-store.ts'
import { awaitDecision, decisionOn } from '../waits/decision.ts'
import type { HeldSession } from './leases.ts'
import type { RunClock } from './run-clock.ts'

export interface ContextDeps {
  readonly sessions: SessionStore
  readonly prompts: PromptStore
  readonly approvals: ApprovalStore
  readonly history: HistoryStore
  readonly histories: HistoryCache
  readonly live: LiveEvents
  readonly keys: Pick<Keys, 'byId'>
  /** Told when a session begins to wait for people, and when it does not any more. */
  readonly onAsking: (sessionId: string, isAsking: boolean) => void
  /** Looks at the session again after so many milliseconds. */
  readonly wakeLater: (sessionId: string, ms: number) => void
}

/** One run, as far as its context needs to know it. */
export interface OneRun {
  readonly runId: string
  /** Aborts when the run has to end. */
  readonly signal: AbortSignal
  /** Aborts when the process wants to hand its sessions over. */
  readonly draining: AbortSignal
  readonly runtime: Pick<Runtime, 'parks' | 'capabilities'>
  /** The time in which it works. */
  readonly clock: RunClock
  /** Called when the run ends because it waits: what it waits for stands in table `waits`. */
  readonly onPark: () => void
  /** Told all prompts of the run, whenever it asks for them. */
  readonly onPrompts: (prompts: readonly EndedPrompt[]) => void
}

const historyPage = 500

/** What the engine lends to a run, under the fence of its owner. */
export function contextOf(
  { prompts, sessions, approvals, history, histories, live, keys, onAsking, wakeLater }: ContextDeps,
  held: HeldSession,
  { runId, signal, draining, runtime, clock, onPark, onPrompts }: OneRun,
): Omit<RunContext, 'runId' | 'signal' | 'isStopped' | 'isDraining'> {
  const previewed = new Set<string>()
  let questions = 0
  const asking = async <T>(wait: Promise<T>): Promise<T> => {
    if (questions++ === 0) {
      onAsking(held.sessionId, true)
      clock.pause()
    }
    return wait.finally(() => {
      if (--questions > 0) return
      onAsking(held.sessionId, false)
      clock.goOn()
    })
  }
  /** What has been said by now. */
  const saidOrParked = async (eventId: string): Promise<Decision | undefined> => {
    const decision = await decisionOn({ approvals }, eventId, held)
    if (!decision) onPark()
    return decision
  }
  return {
    history: () => historyOf({ history, histories }, held, runtime.capabilities.compaction),
    async prompts() {
      const all = await whileHeld(held, () => prompts.join(held, runId))
      onPrompts(all)
      return all
    },
    payer: ({ principal, key_id }) =>
      whileHeld(held, async () => {
        if (key_id === null) return { principal, key: undefined }
        const found = await keys.byId(key_id)
        return found && { principal, key: found.key }
      }),
    remember: refs =>
      whileHeld(held, async () => {
        if (!(await sessions.remember(undefined, held, refs))) throw new FenceLost(held.sessionId)
      }),
    decision: eventId =>
      runtime.parks
        ? saidOrParked(eventId)
        : asking(awaitDecision({ approvals, live }, eventId, { held, signal: AbortSignal.any([signal, draining]) })),
    ...(runtime.parks && {
      async putAside(ms: number) {
        await whileHeld(held, () => prompts.putAside(held, ms))
        onPark()
        wakeLater(held.sessionId, ms)
      },
    }),
    spend: eventId => whileHeld(held, () => approvals.spend(eventId)),
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

/** `isCompactable`: what the last compaction of the conversation stands for is left out. */
async function* historyOf(
  { history, histories }: Pick<ContextDeps, 'history' | 'histories'>,
  held: HeldSession,
  isCompactable: boolean,
): AsyncGenerator<SessionEvent> {
  const { sessionId } = held
  const known = histories.eventsOf(sessionId)
  yield* known
  for (let after = known.at(-1)?.seq; ; ) {
    const page = await whileHeld(held, () =>
      after === undefined && isCompactable
        ? history.firstKept(sessionId, historyPage)
        : history.after(sessionId, after ?? 0, historyPage),
    )
    histories.add(sessionId, page, { after, isCompactable })
    yield* page.events
    if (page.events.length < historyPage) return
    after = page.events.at(-1)?.seq
  }
}
