import type { LiveEvents } from './log/live-events.ts'
import { pollUntil } from './log/poll-until.ts'
import type { PromptStore } from './queue/prompt-store.ts'
import type { PauseStore } from './waits/pause-store.ts'

/** Resolves when the prompt has ended, when a budget stops it (`paused`), or when the signal aborts. */
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

/** Waits for changes of the session and reads the prompt's state from the database after each. */
export function createWaitForPrompt({ prompts, pauses, live }: Deps): WaitForPrompt {
  return async (sessionId, promptId, signal) => {
    const check = async () => {
      const state = (await prompts.find(promptId))?.state
      if (state !== 'waiting' && state !== 'running') return 'ended'
      return state === 'waiting' && (await pauses.isPaused(promptId)) ? 'paused' : undefined
    }
    return (await pollUntil({ live, sessionId, signal, checkMs: () => checkMs }, check)) ?? 'aborted'
  }
}
