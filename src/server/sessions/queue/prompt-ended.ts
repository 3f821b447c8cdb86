import type { NewEvent, PromptEnded } from '../../../contract/events.ts'

/** A prompt that has ended, and the run that it was part of; null when it never began. */
export interface EndedPrompt {
  readonly id: string
  readonly run_id: string | null
}

/** The end of each of these prompts. */
export const promptsEnded = (
  prompts: readonly EndedPrompt[],
  { state, reason }: Pick<PromptEnded, 'state' | 'reason'>,
): NewEvent[] =>
  prompts.map(({ id, run_id }) => {
    const ended: PromptEnded = { prompt_id: id, run_id, state, reason }
    return { type: 'session.prompt_ended', ...ended }
  })
