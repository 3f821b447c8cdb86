import { estimateInputTokens } from '../../../gateway/tokens/estimate.ts'
import { failed, type RunPrompt } from '../../runtime.ts'
import { bodyOf } from '../request.ts'
import type { Events, Run } from '../run.ts'
import { tokensOfBlock } from './blocks.ts'
import { compact } from './compaction.ts'
import { limitsOf } from './limits.ts'
import { trimOf } from './trimming.ts'

/** The next request. */
interface Next {
  readonly prompt: RunPrompt
  /** Prompts that enter the conversation with it. */
  readonly joined: readonly RunPrompt[]
}

/** Fields of `span.model_request_start` about trimming. */
export interface Room {
  /** Tool results up to that of this call are trimmed from now on. */
  readonly trimmed_until?: string
}

/** Trimming must bring the request below this share of the limit, or it would soon be needed again. */
const roomAfterTrimming = 0.85
/** A conversation below this share of the limit is not summarized. */
const worthSummary = 0.1

/**
 * Makes the next request fit into the context window: trims old tool results, and compacts the conversation if that is
 * not enough. Returns undefined when the run has ended or must be handed over.
 */
export async function* makeRoom(run: Run, { prompt, joined }: Next): AsyncGenerator<Events, Room | undefined> {
  const {
    context,
    conversation: { transcript },
  } = run
  const limits = limitsOf(run, prompt)
  const fixed = estimateInputTokens(bodyOf(run, prompt, []))
  const pending = joined.flatMap(({ parts }) => parts).reduce((sum, part) => sum + tokensOfBlock({ ...part }), 0)
  const tokens = transcript.tokens(fixed) + pending
  if (tokens <= limits.input) return {}

  const trim = trimOf(transcript, limits.retained)
  if (trim && tokens - trim.saves <= limits.input * roomAfterTrimming) return { trimmed_until: trim.until }
  if (limits.window !== undefined && fixed + pending > limits.window) {
    yield [failed('compaction_limit_reached_error', tooMuch({ prompt, fixed, pending, window: limits.window }))]
    return undefined
  }
  if (transcript.tokensFrom(0) < limits.input * worthSummary) return {}
  if (
    !(yield* compact(run, { prompt, fixed, pending, input: limits.input, retained: limits.retained, reason: 'auto' }))
  ) {
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
  `prompt (about ${pending} tokens) and system prompt with tools (about ${fixed}) exceed the context window of model ${model} \
(${window}); shorten them or use another model`
