import type { NewEvent, PromptEnded } from '../../../contract/events.ts'

/** A prompt that has ended and the run that included it; null when it never ran. */
export interface EndedPrompt {
  readonly id: string
  readonly run_id: string | null
}

/** Returns the end events of these prompts. */
export const promptsEnded = (
  prompts: readonly EndedPrompt[],
  { state, reason }: Pick<PromptEnded, 'state' | 'reason'>,
): NewEvent[] =>
  prompts.map(({ id, run_id }) => {
    const ended: PromptEnded = { prompt_id: id, run_id, state, reason }
    return { type: 'session.prompt_ended', ...ended }
  })
