import type { SessionEvent } from '../../../contract/events.ts'
import type { Keys } from '../../keys/keys.ts'
import type { Decision, Folded, Reading, RunContext, Runtime } from '../../runtimes/runtime.ts'
import { FenceLost, whileHeld } from '../log/event-log.ts'
import { type Fold, type FoldCache, goneOn } from '../log/fold-cache.ts'
import type { HistoryCache } from '../log/history-cache.ts'
import type { HistoryStore } from '../log/history-store.ts'
import type { LiveEvents } from '../log/live-events.ts'
import type { EndedPrompt } from '../queue/prompt-ended.ts'
import type { PromptStore, QueuedPrompt } from '../queue/prompt-store.ts'
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
  readonly folds: FoldCache
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
  /** With which it began, or went on. */
  readonly prompt: QueuedPrompt
  /** Aborts when the run has to end. */
  readonly signal: AbortSignal
  /** Aborts when the process wants to hand its sessions over. */
  readonly draining: AbortSignal
  readonly runtime: Pick<Runtime, 'parks'>
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
  deps: ContextDeps,
  held: HeldSession,
  { runId, prompt, signal, draining, runtime, clock, onPark, onPrompts }: OneRun,
): Omit<RunContext, 'runId' | 'signal' | 'isStopped' | 'isDraining'> {
  const { prompts, sessions, approvals, live, keys, onAsking, wakeLater } = deps
  const previewed = new Set<string>()
  let all: readonly QueuedPrompt[] = [prompt]
  let questions = 0
  const asking = async <T>(wait: Promise<T>): Promise<T> => {
    if (questions++ === 0) {
      held.isAsking = true
      onAsking(held.sessionId, true)
      clock.pause()
    }
    return wait.finally(() => {
      if (--questions > 0) return
      held.isAsking = false
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
    history: () => historyOf(deps, held),
    fold: reading => foldOf(deps, held, reading),
    async prompts() {
      if (held.hasNews) {
        held.hasNews = false
        all = await whileHeld(held, () => prompts.join(held, runId))
      }
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
        : asking(
            awaitDecision({ approvals, live }, eventId, {
              sessionId: held.sessionId,
              signal: AbortSignal.any([signal, draining]),
            }),
          ),
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

async function* historyOf({ history, histories }: ContextDeps, held: HeldSession): AsyncGenerator<SessionEvent> {
  const { sessionId } = held
  const known = histories.eventsOf(sessionId)
  yield* known
  for (let after = known.at(-1)?.seq ?? 0; ; ) {
    const page = await whileHeld(held, () => history.after(sessionId, after, historyPage))
    histories.add(sessionId, page)
    yield* page.events
    if (page.events.length < historyPage) return
    after = page.events.at(-1)?.seq ?? after
  }
}

/** Goes on where the last run in this process ended, or begins with what the last compaction has kept. */
async function foldOf<State>(
  { history, folds }: ContextDeps,
  held: HeldSession,
  reading: Reading<State>,
): Promise<Folded<State>> {
  const { sessionId } = held
  const known = folds.take(sessionId)
  let fold: Fold = known ?? { state: reading.begin(), reading: reading as Reading<unknown>, last: 0, bytes: 0 }
  for (let isBegun = known !== undefined; !isBegun || fold.last < held.lastSeq; isBegun = true) {
    const { last } = fold
    const { events, bytes } = await whileHeld(held, () =>
      isBegun ? history.after(sessionId, last, historyPage) : history.firstKept(sessionId, historyPage),
    )
    fold = goneOn(fold, events, bytes)
    if (events.length < historyPage) break
  }
  folds.put(sessionId, fold)
  return { state: reading.copy(fold.state as State), last: fold.last }
}
