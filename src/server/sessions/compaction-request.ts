import type { Pool } from 'pg'
import { transaction } from '../db/connect.ts'
import { once, sqlOfClient } from '../db/once.ts'
import type { Caller } from '../http/caller.ts'
import type { Idempotency } from '../http/idempotency.ts'
import { AppError } from '../platform/errors.ts'
import type { RuntimeRegistry } from '../runtimes/runtime.ts'
import type { Appended, EventLog } from './log/event-log.ts'
import type { EventStore } from './log/event-store.ts'
import type { PromptQueue } from './queue/prompt-queue.ts'
import type { PromptStore } from './queue/prompt-store.ts'
import type { Sessions } from './sessions.ts'
import type { WaitForPrompt } from './wait-for-prompt.ts'

interface Deps {
  readonly pool: Pool
  readonly sessions: Pick<Sessions, 'open' | 'modelOf'>
  readonly runtimes: Pick<RuntimeRegistry, 'find'>
  readonly queue: Pick<PromptQueue, 'enqueueCompaction'>
  readonly eventLog: Pick<EventLog, 'publish'>
  readonly events: Pick<EventStore, 'list'>
  readonly prompts: Pick<PromptStore, 'find'>
  readonly waitForPrompt: WaitForPrompt
}

interface CompactionOptions {
  readonly caller: Caller
  readonly idempotency: Idempotency | undefined
  /** Model that writes the summary; undefined selects the session's model. */
  readonly model?: string | undefined
  /** What happens when the session is busy; the default is `enqueue`. */
  readonly mode?: 'enqueue' | 'reject'
}

/** Callers' requests to compact the conversation of a session. */
export type CompactionRequests = ReturnType<typeof createCompactionRequests>

export function createCompactionRequests(deps: Deps) {
  const { pool, sessions, runtimes, queue, eventLog, events, prompts, waitForPrompt } = deps

  /** Throws `conflict` when the runtime manages the conversation itself. */
  async function enqueue(
    id: string,
    { caller, idempotency, model, mode = 'enqueue' }: CompactionOptions,
  ): Promise<string> {
    const { runtime } = await sessions.open(id, caller)
    if (!(await runtimes.find(runtime))?.capabilities.compaction) {
      throw new AppError(
        'conflict',
        `session ${id} cannot be compacted: its runtime ${runtime} manages its own context (capability compaction)`,
      )
    }
    const target = { id, caller, mode, model: model ?? (await sessions.modelOf(id, caller)) }
    const unpublished: Appended[] = []
    const promptId = await transaction(pool, client =>
      once(sqlOfClient(client), idempotency, () => queue.enqueueCompaction(client, target, unpublished)),
    )
    unpublished.forEach(eventLog.publish)
    return promptId
  }

  return {
    enqueue,

    /**
     * Compacts an idle session. Resolves when the compaction is done or the caller disconnects. Throws `conflict` when
     * it is cancelled or fails, and `budget_exceeded` when a budget stops it.
     */
    async done(id: string, options: CompactionOptions & { readonly signal: AbortSignal }): Promise<void> {
      const promptId = await enqueue(id, { ...options, mode: 'reject' })
      const how = await waitForPrompt(id, promptId, options.signal)
      if (how === 'paused') {
        const message = `a budget of the session is used up; compaction ${promptId} runs once the budget has room`
        throw new AppError('budget_exceeded', message, { fields: { prompt_id: promptId, state: 'pending' } })
      }
      const state = how === 'ended' ? (await prompts.find(promptId))?.state : undefined
      if (state === 'cancelled') throw new AppError('conflict', 'the compaction was cancelled')
      if (state === 'error') throw new AppError('conflict', `the compaction failed: ${await lastError(id)}`)
    },
  }

  async function lastError(sessionId: string): Promise<string> {
    const last = { after: Number.MAX_SAFE_INTEGER, limit: 1, order: 'desc', types: ['session.error'] } as const
    const { data } = await events.list({ sessionId, ...last })
    const { message } = data[0]?.error ?? {}
    return message ?? 'see the events of the session'
  }
}
