import type { AnsweredMessage } from '../../contract/sessions.ts'
import type { Caller } from '../http/caller.ts'
import type { Idempotency } from '../http/idempotency.ts'
import { AppError } from '../platform/errors.ts'
import { budgetStopOf, exchangeOf } from './log/conversation.ts'
import type { EventStore } from './log/event-store.ts'
import type { SentPrompt, Sessions } from './sessions.ts'
import type { WaitForPrompt } from './wait-for-prompt.ts'

interface Deps {
  readonly sessions: Pick<Sessions, 'prompt' | 'withdraw'>
  readonly events: EventStore
  readonly waitForPrompt: WaitForPrompt
}

interface By {
  readonly caller: Caller
  readonly idempotency: Idempotency | undefined
  /** Aborts when the caller disconnects; the prompt stays queued. */
  readonly signal: AbortSignal
}

/**
 * Queues a prompt and waits for the assistant's message. Throws `budget_exceeded` when a budget stops the session: a
 * prompt without model output is then cancelled; a started turn stays and continues once the budget has room.
 */
export function createPromptAnswer({ sessions, events, waitForPrompt }: Deps) {
  return async (sessionId: string, prompt: SentPrompt, by: By): Promise<AnsweredMessage> => {
    const { caller, idempotency, signal } = by
    const promptId = await sessions.prompt(sessionId, prompt, { caller, idempotency })
    for (;;) {
      const how = await waitForPrompt(sessionId, promptId, signal)
      const { answer, hasEnd, hasBegun } = await exchangeOf(events, sessionId, promptId)
      if (how !== 'paused') return answer ?? withoutAnswer(hasEnd)
      const why = (await budgetStopOf(events, sessionId)) ?? 'a budget of this session is used up'
      if (hasBegun) {
        throw outOfBudget(`${why}; prompt ${promptId} continues once the budget has room`, {
          prompt_id: promptId,
          state: 'pending',
        })
      }
      if (await isCancelled(sessionId, promptId, caller)) {
        throw outOfBudget(`${why}; prompt ${promptId} was cancelled`, { prompt_id: promptId, state: 'cancelled' })
      }
    }
  }

  /** Returns false when the prompt has started meanwhile. */
  async function isCancelled(sessionId: string, promptId: string, caller: Caller): Promise<boolean> {
    try {
      await sessions.withdraw(sessionId, promptId, caller)
      return true
    } catch (error) {
      if (error instanceof AppError && error.code === 'conflict') return false
      throw error
    }
  }
}

const outOfBudget = (message: string, fields: Readonly<Record<string, string>>) =>
  new AppError('budget_exceeded', message, { fields })

function withoutAnswer(hasEnd: boolean): never {
  throw new AppError('conflict', hasEnd ? 'prompt ended without an answer' : 'prompt was cancelled before it ran')
}
