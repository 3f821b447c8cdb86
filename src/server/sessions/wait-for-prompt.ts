import type { LiveEvents } from './log/live-events.ts'
import { lookUntil } from './log/look-until.ts'
import type { PromptStore } from './queue/prompt-store.ts'
import type { PauseStore } from './waits/pause-store.ts'

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
    const look = async () => {
      const state = (await prompts.find(promptId))?.state
      if (state !== 'waiting' && state !== 'running') return 'ended'
      return state === 'waiting' && (await pauses.isPaused(promptId)) ? 'paused' : undefined
    }
    return (await lookUntil({ live, sessionId, signal, checkMs }, look)) ?? 'aborted'
  }
}
