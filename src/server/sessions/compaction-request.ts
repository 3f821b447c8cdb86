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
  readonly eventLog: Pick<EventLog, 'tell'>
  readonly events: Pick<EventStore, 'list'>
  readonly prompts: Pick<PromptStore, 'find'>
  readonly waitForPrompt: WaitForPrompt
}

interface Asked {
  readonly caller: Caller
  readonly idempotency: Idempotency | undefined
  /** Of the summary; undefined: that of the session. */
  readonly model?: string | undefined
  /** What becomes of it in a busy session; by default it waits in line. */
  readonly mode?: 'enqueue' | 'reject'
}

/** Callers' requests to compact the conversation of a session. */
export type CompactionRequests = ReturnType<typeof createCompactionRequests>

export function createCompactionRequests(deps: Deps) {
  const { pool, sessions, runtimes, queue, eventLog, events, prompts, waitForPrompt } = deps

  /** Throws `conflict` where the conversation is not ours to compact. */
  async function enqueue(id: string, { caller, idempotency, model, mode = 'enqueue' }: Asked): Promise<string> {
    const { runtime } = await sessions.open(id, caller)
    if (!(await runtimes.find(runtime))?.capabilities.compaction) {
      throw new AppError(
        'conflict',
        `session ${id} cannot be compacted: its runtime ${runtime} keeps its own context (capability compaction)`,
      )
    }
    const target = { id, caller, mode, model: model ?? (await sessions.modelOf(id, caller)) }
    const told: Appended[] = []
    const promptId = await transaction(pool, client =>
      once(sqlOfClient(client), idempotency, () => queue.enqueueCompaction(client, target, told)),
    )
    told.forEach(eventLog.tell)
    return promptId
  }

  return {
    enqueue,

    /**
     * Compacts a session that is not busy, and waits until that is done or the caller leaves. Throws what kept it from being
     * done.
     */
    async done(id: string, asked: Asked & { readonly signal: AbortSignal }): Promise<void> {
      const promptId = await enqueue(id, { ...asked, mode: 'reject' })
      const how = await waitForPrompt(id, promptId, asked.signal)
      if (how === 'paused') {
        const message = `a budget of the session is used up; the compaction ${promptId} waits until there is room`
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
    const { message } = (data[0]?.['error'] ?? {}) as { readonly message?: string }
    return message ?? 'see the events of the session'
  }
}
