import { pause } from '../platform/timers.ts'
import type { LiveEvents } from './live-events.ts'
import type { PauseStore } from './pause-store.ts'
import type { PromptStore } from './prompt-store.ts'

/** Resolves when the prompt has ended, when it waits for a budget (`paused`), or when the signal aborts. */
export type WaitForPrompt = (
  sessionId: string,
  promptId: string,
  signal: AbortSignal,
) => Promise<'ended' | 'paused' | 'aborted'>

interface Deps {
  readonly prompts: Pick<PromptStore, 'find'>
  readonly pauses: Pick<PauseStore, 'isPaused'>
  readonly live: Pick<LiveEvents, 'subscribe'>
}

const checkMs = 2_000

/** Waits on the news of the session, and looks at the prompt itself, whose state is the truth. */
export function createWaitForPrompt({ prompts, pauses, live }: Deps): WaitForPrompt {
  return async (sessionId, promptId, signal) => {
    const subscription = live.subscribe(sessionId)
    try {
      while (!signal.aborted) {
        const settled = new AbortController()
        const either = AbortSignal.any([signal, settled.signal])
        // Listening begins before the look, so that no change falls in between.
        const change = subscription.change(either)
        const prompt = await prompts.find(promptId)
        const isOpen = prompt?.state === 'waiting' || prompt?.state === 'running'
        const isPaused = prompt?.state === 'waiting' && (await pauses.isPaused(promptId))
        if (isOpen && !isPaused) await Promise.race([change, pause(checkMs, either)])
        settled.abort()
        if (!isOpen) return 'ended'
        if (isPaused) return 'paused'
      }
      return 'aborted'
    } finally {
      subscription.close()
    }
  }
}
