import { estimateInputTokens, estimateTextTokens } from '../../../gateway/tokens/estimate.ts'
import { failed, type RunPrompt } from '../../runtime.ts'
import { bodyOf } from '../request.ts'
import type { Events, Run } from '../run.ts'
import { compact } from './compaction.ts'
import { limitsOf } from './limits.ts'
import { trimOf } from './trimming.ts'

/** The request that comes next. */
interface Next {
  readonly prompt: RunPrompt
  /** Prompts that enter the conversation with it. */
  readonly joined: readonly RunPrompt[]
}

/** What the announcement of a request says of its room. */
export interface Room {
  /** Results up to that of this tool call are trimmed from now on. */
  readonly trimmed_until?: string
}

/** Trimming has to leave as much of the limit free, or it would be needed again soon. */
const roomAfterTrimming = 0.85
/** A conversation of a smaller part of the limit is not worth a summary. */
const worthSummary = 0.1

/**
 * Sees that the next request fits: trims old tool results, and has the conversation compacted where that is not enough.
 * Undefined when the run has ended, or has to be handed over.
 */
export async function* makeRoom(run: Run, { prompt, joined }: Next): AsyncGenerator<Events, Room | undefined> {
  const {
    context,
    conversation: { said },
  } = run
  const limits = limitsOf(run, prompt)
  const fixed = estimateInputTokens(bodyOf(run, prompt, []))
  const pending = joined.flatMap(({ parts }) => parts).reduce((sum, { text }) => sum + estimateTextTokens(text), 0)
  const tokens = said.tokens(fixed) + pending
  if (tokens <= limits.input) return {}

  const trim = trimOf(said, limits.kept)
  if (trim && tokens - trim.saves <= limits.input * roomAfterTrimming) return { trimmed_until: trim.until }
  if (limits.window !== undefined && fixed + pending > limits.window) {
    yield [failed('compaction_limit_reached_error', tooMuch({ prompt, fixed, pending, window: limits.window }))]
    return undefined
  }
  if (said.tokensFrom(0) < limits.input * worthSummary) return {}
  if (!(yield* compact(run, { prompt, fixed, pending, input: limits.input, kept: limits.kept, reason: 'auto' }))) {
    return undefined
  }
  return context.isDraining() ? undefined : {}
}

interface TooMuch {
  readonly prompt: RunPrompt
  readonly fixed: number
  readonly pending: number
  readonly window: number
}

const tooMuch = ({ prompt: { model }, fixed, pending, window }: TooMuch): string =>
  `the prompt has about ${pending} tokens, and system prompt and tools about ${fixed}; the window of model ${model} has ${window}; \
shorten them, or choose another model`
