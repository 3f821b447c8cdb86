import type { Gateway } from '../../../gateway/gateway.ts'
import { countOf, type Json, recordOf } from '../../../platform/json.ts'
import type { RunPrompt } from '../../runtime.ts'
import type { Run } from '../run.ts'

/** What is known of a model's window and of its answers. */
export type ModelLimits = ReturnType<Gateway['limits']>

/** How much of a model's window a session uses, in tokens. */
export interface ContextLimits {
  /** The model's window; undefined: nobody has stated it. */
  readonly window: number | undefined
  /** `max_tokens` of a request. */
  readonly answer: number
  /** A request that is larger is made smaller before it is sent. */
  readonly input: number
  /** What stays as it is at the end of a conversation when it is made smaller. */
  readonly kept: number
}

/** Of models that nobody has stated a window for. Our choice: most that are served today have as much. */
const assumedWindow = 128_000
const defaultAnswer = 16_000
/** Estimates may be too low by as much, mostly for code and for texts that are not in English. */
const margin = 0.05

/** The limits of a run's requests to the model of a prompt. */
export const limitsOf = ({ deps, session }: Pick<Run, 'deps' | 'session'>, { model }: Pick<RunPrompt, 'model'>) =>
  contextLimits(deps.modelLimits(model), session.config)

/**
 * The limits of a session's requests to a model. An answer leaves at least three quarters of the window to the request, or half
 * of it where the agent names `max_tokens`. `config.context.max_input_tokens` makes requests smaller than the window needs.
 */
export function contextLimits({ contextWindow, maxOutput }: ModelLimits, config: Json): ContextLimits {
  const { max_input_tokens, kept_tokens } = recordOf(config['context'])
  const named = countOf(recordOf(config['model_settings'])['max_tokens']) || countOf(config['max_tokens'])
  const wanted = named || Math.min(defaultAnswer, maxOutput ?? defaultAnswer)
  const window = contextWindow ?? assumedWindow
  const reserved = Math.max(1, Math.min(wanted, Math.floor(named ? window / 2 : window / 4)))
  const input = Math.min(Math.floor((window - reserved) * (1 - margin)), countOf(max_input_tokens) || window)
  return {
    window: contextWindow,
    answer: contextWindow === undefined ? wanted : reserved,
    input,
    kept: Math.min(countOf(kept_tokens) ?? Math.floor(input / 4), Math.floor(input / 2)),
  }
}
