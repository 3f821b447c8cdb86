import type { SessionEvent } from '../../../contract/events.ts'
import type { Keys } from '../../keys/keys.ts'
import type { Decision, Folded, LogReducer, RunContext, RunSession, Runtime } from '../../runtimes/runtime.ts'
import { maxSubagentDepth, subagentEntries } from '../../tools/subagents.ts'
import type { PromptFiles } from '../files/prompt-files.ts'
import { type EventLog, FenceLost, whileLeased } from '../log/event-log.ts'
import { extendFold, type Fold, type FoldCache } from '../log/fold-cache.ts'
import type { HistoryCache } from '../log/history-cache.ts'
import type { HistoryStore } from '../log/history-store.ts'
import type { LiveEvents } from '../log/live-events.ts'
import type { PromptStore, QueuedPrompt } from '../queue/prompt-store.ts'
import type { SessionStore } from '../session-store.ts'
import type { ApprovalStore } from '../waits/approval-store.ts'
import type { CustomToolStore } from '../waits/custom-tool-store.ts'
import { awaitDecision, decisionOn } from '../waits/decision.ts'
import type { Subagents } from '../waits/subagents.ts'
import type { LeasedSession } from './leases.ts'
import type { RunClock } from './run-clock.ts'

export interface ContextDeps {
  readonly sessions: SessionStore
  readonly prompts: PromptStore
  readonly approvals: ApprovalStore
  readonly customToolCalls: CustomToolStore
  readonly history: HistoryStore
  readonly histories: HistoryCache
  readonly folds: FoldCache
  readonly live: LiveEvents
  readonly eventLog: Pick<EventLog, 'append'>
  readonly keys: Pick<Keys, 'workerById'>
  readonly promptFiles: Pick<PromptFiles, 'read'>
  /** Calls of agents. */
  readonly subagents: Pick<Subagents, 'ofRun'>
  /** Called when a session starts or stops waiting for approval. */
  readonly onAwaitingApproval: (sessionId: string, isAwaitingApproval: boolean) => void
  /** Wakes the session after this many milliseconds. */
  readonly wakeLater: (sessionId: string, ms: number) => void
}

/** The parts of a run that its context needs. */
export interface OneRun {
  readonly runId: string
  /** The prompt that the run started with or was resumed for. */
  readonly prompt: QueuedPrompt
  /** Aborts when the run must end. */
  readonly signal: AbortSignal
  /** Aborts when the process starts to hand its sessions over. */
  readonly draining: AbortSignal
  readonly runtime: Pick<Runtime, 'parks'>
  readonly session: RunSession
  /** The sessions above it. */
  readonly ancestors: readonly string[]
  /** Working time of the run. */
  readonly clock: RunClock
  /** Called when the run ends because it waits; table `waits` has what it waits for. */
  readonly onPark: () => void
  /** Called with all prompts of the run whenever the runtime reads them. */
  readonly onPrompts: (prompts: readonly QueuedPrompt[]) => void
  /** Writes the files of prompts into the workspace. */
  readonly place: (prompts: readonly QueuedPrompt[]) => Promise<void>
}

const historyPage = 500

/** Returns the context that the engine passes to a run; its writes carry the fence of the owner. */
export function contextOf(
  deps: ContextDeps,
  leased: LeasedSession,
  { runId, prompt, signal, draining, runtime, session, ancestors, clock, onPark, onPrompts, place }: OneRun,
): Omit<RunContext, 'runId' | 'signal' | 'isStopped' | 'isDraining'> {
  const { prompts, sessions, approvals, customToolCalls, live, eventLog, keys, onAwaitingApproval, wakeLater } = deps
  const previewed = new Set<string>()
  let all: readonly QueuedPrompt[] = [prompt]
  let pendingApprovals = 0
  const whileAwaitingApproval = async <T>(wait: Promise<T>): Promise<T> => {
    if (pendingApprovals++ === 0) {
      leased.isAwaitingApproval = true
      onAwaitingApproval(leased.sessionId, true)
      clock.pause()
    }
    return wait.finally(() => {
      if (--pendingApprovals > 0) return
      leased.isAwaitingApproval = false
      onAwaitingApproval(leased.sessionId, false)
      clock.resume()
    })
  }
  /** Returns the decision if there is one; else parks the run. */
  const decisionOrPark = async (eventId: string): Promise<Decision | undefined> => {
    const decision = await decisionOn({ approvals, eventLog }, eventId, leased)
    if (!decision) onPark()
    return decision
  }
  return {
    history: () => historyOf(deps, leased),
    fold: reading => foldOf(deps, leased, reading),
    async prompts() {
      if (leased.hasNews) {
        leased.hasNews = false
        all = await whileLeased(leased, () => prompts.join(leased, runId))
      }
      onPrompts(all)
      await place(all)
      return all
    },
    fileContent: file => whileLeased(leased, () => deps.promptFiles.read(leased.sessionId, file)),
    payer: ({ principal, key_id }) =>
      whileLeased(leased, async () => {
        if (key_id === null) return { principal, key: undefined }
        const found = await keys.workerById(key_id)
        return found && { principal, key: found.key }
      }),
    saveRefs: refs =>
      whileLeased(leased, async () => {
        if (!(await sessions.storeRefs(undefined, leased, refs))) throw new FenceLost(leased.sessionId)
      }),
    decision: eventId =>
      runtime.parks
        ? decisionOrPark(eventId)
        : whileAwaitingApproval(
            awaitDecision({ approvals, live, eventLog }, eventId, {
              leased,
              signal: AbortSignal.any([signal, draining]),
            }),
          ),
    ...(runtime.parks && {
      async customToolEnd(eventId: string) {
        const end = await whileLeased(leased, () => customToolCalls.end(eventId))
        if (!end) onPark()
        return end
      },
      ...(ancestors.length < maxSubagentDepth &&
        subagentEntries(session.config).length > 0 && {
          subagents: deps.subagents.ofRun({ runId, leased, session, ancestors, prompt, signal, onPark }),
        }),
      async postpone(ms: number) {
        await whileLeased(leased, () => prompts.putAside(leased, ms))
        onPark()
        wakeLater(leased.sessionId, ms)
      },
    }),
    claimToolCall: eventId => whileLeased(leased, () => approvals.spend(eventId)),
    preview(eventId, text) {
      if (!previewed.has(eventId)) {
        previewed.add(eventId)
        live.preview(leased.sessionId, { type: 'event_start', event: { id: eventId, type: 'agent.message' } })
      }
      const delta = { type: 'content_delta', content: { type: 'text', text } } as const
      live.preview(leased.sessionId, { type: 'event_delta', event_id: eventId, delta })
    },
  }
}

async function* historyOf({ history, histories }: ContextDeps, leased: LeasedSession): AsyncGenerator<SessionEvent> {
  const { sessionId } = leased
  const cached = histories.eventsOf(sessionId)
  yield* cached
  for (let after = cached.at(-1)?.seq ?? 0; ; ) {
    const page = await whileLeased(leased, () => history.after(sessionId, after, historyPage))
    histories.add(sessionId, page)
    yield* page.events
    if (page.events.length < historyPage) return
    after = page.events.at(-1)?.seq ?? after
  }
}

/**
 * Returns the fold of the last run in this process, extended to the end of the log, or one built from the last
 * compaction.
 */
async function foldOf<State>(
  { history, folds }: ContextDeps,
  leased: LeasedSession,
  reading: LogReducer<State>,
): Promise<Folded<State>> {
  const { sessionId } = leased
  const cached = folds.take(sessionId)
  let fold: Fold = cached ?? { state: reading.begin(), reading: reading as LogReducer<unknown>, last: 0, bytes: 0 }
  for (let isBegun = cached !== undefined; !isBegun || fold.last < leased.lastSeq; isBegun = true) {
    const { last } = fold
    const { events, bytes } = await whileLeased(leased, () =>
      isBegun ? history.after(sessionId, last, historyPage) : history.firstRetained(sessionId, historyPage),
    )
    fold = extendFold(fold, events, bytes)
    if (events.length < historyPage) break
  }
  folds.put(sessionId, fold)
  return { state: reading.copy(fold.state as State), last: fold.last }
}
