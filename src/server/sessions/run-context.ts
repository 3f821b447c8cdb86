import type { SessionEvent } from '../../contract/events.ts'
import type { Keys } from '../keys/keys.ts'
import type { RunContext } from '../runtimes/runtime.ts'
import type { ApprovalStore } from './approval-store.ts'
import { awaitDecision } from './decision.ts'
import { FenceLost, whileHeld } from './event-log.ts'
import type { EventStore } from './event-store.ts'
import type { HeldSession } from './leases.ts'
import type { LiveEvents } from './live-events.ts'
import type { PromptStore } from './prompt-store.ts'
import type { SessionStore } from './session-store.ts'

export interface ContextDeps {
  readonly sessions: SessionStore
  readonly prompts: PromptStore
  readonly approvals: ApprovalStore
  readonly events: EventStore
  readonly live: LiveEvents
  readonly keys: Pick<Keys, 'byId'>
  readonly isDraining: () => boolean
  /** Told when a session begins to wait for people, and when it does not any more. */
  readonly onAsking: (sessionId: string, isAsking: boolean) => void
}

const historyPage = 500

/** What the engine lends to a run, under the fence of its owner. */
export function contextOf(
  { prompts, sessions, approvals, events, live, keys, isDraining, onAsking }: ContextDeps,
  held: HeldSession,
  { runId, signal }: { runId: string; signal: AbortSignal },
): Omit<RunContext, 'runId' | 'signal' | 'isStopped' | 'isDraining'> {
  const previewed = new Set<string>()
  let questions = 0
  const asking = async <T>(wait: Promise<T>): Promise<T> => {
    if (questions++ === 0) onAsking(held.sessionId, true)
    return wait.finally(() => {
      if (--questions === 0) onAsking(held.sessionId, false)
    })
  }
  return {
    history: () => historyOf(events, held),
    prompts: () => whileHeld(held, () => prompts.join(held, runId)),
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
    decision: eventId => asking(awaitDecision({ approvals, live }, eventId, { held, signal, isDraining })),
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

async function* historyOf(events: EventStore, held: HeldSession): AsyncGenerator<SessionEvent> {
  for (let after = 0; ; ) {
    const page = await whileHeld(held, () => events.page(held.sessionId, after, historyPage))
    yield* page
    if (page.length < historyPage) return
    after = page.at(-1)?.seq ?? after
  }
}
