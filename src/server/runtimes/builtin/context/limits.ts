import type { Gateway } from '../../../gateway/gateway.ts'
import { countOf, type Json, recordOf } from '../../../platform/json.ts'
import type { RunPrompt } from '../../runtime.ts'
import type { Run } from '../run.ts'

/** Context window and maximum output of a model. */
export type ModelLimits = ReturnType<Gateway['limits']>

/** Limits of a session within a model's context window, in tokens. */
export interface ContextLimits {
  /** The model's context window; undefined when it is unknown. */
  readonly window: number | undefined
  /** `max_tokens` of a request. */
  readonly answer: number
  /** Maximum size of a request; a larger one is trimmed or compacted before it is sent. */
  readonly input: number
  /** Part at the end of the conversation that a compaction leaves unchanged. */
  readonly retained: number
}

/** Context window of models for which none is known. Our choice: most current models have at least this one. */
const assumedWindow = 128_000
const defaultAnswer = 16_000
/** Estimates may be too low by this share, mostly for code and for languages other than English. */
const margin = 0.05

/** Returns the limits of a run's requests to the model of a prompt. */
export const limitsOf = ({ deps, session }: Pick<Run, 'deps' | 'session'>, { model }: Pick<RunPrompt, 'model'>) =>
  contextLimits(deps.modelLimits(model), session.config)

/**
 * Returns the limits of a session's requests to a model. An answer reserves at most a quarter of the context window, or
 * half of it if the agent sets `max_tokens`. `config.context.max_input_tokens` limits requests further.
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
    retained: Math.min(countOf(kept_tokens) ?? Math.floor(input / 4), Math.floor(input / 2)),
  }
}
