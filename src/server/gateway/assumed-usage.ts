import type { Attempt, Outcome } from './call.ts'
import { estimateInputOf } from './counting/estimate-of-kind.ts'
import type { TokenCounts } from './counting/token-counts.ts'
import type { ModelLimits } from './prices/model-limits.ts'

interface Assumptions {
  /** Of the model that had the request. */
  readonly limits: ModelLimits
  readonly outputTokensPerSecond: number
}

/**
 * The outcome as it is booked when its usage is not stated. An answer that was left, lost or cut before its upstream stated the usage counts with its
 * whole input, and with as much output as the upstream may have made by then: hanging up must not be a way around a budget.
 * `unstatedMs` stays where the upstream stated nothing at all.
 */
export function withAssumed(outcome: Outcome, { call, ask }: Attempt, assumptions: Assumptions): Outcome {
  const { unstatedMs = 0, usage } = outcome
  const most = ask.maxTokens || (assumptions.limits.maxOutput ?? assumptions.limits.contextWindow)
  const assumed = Math.ceil((unstatedMs / 1_000) * assumptions.outputTokensPerSecond)
  const output = call.kind === 'embeddings' ? 0 : Math.min(assumed, most ?? assumed)
  const booked = { ...usage, output_tokens: Math.max(usage.output_tokens, output), estimated: true }
  if (hasInput(usage)) {
    const { unstatedMs: _, ...stated } = outcome
    return { ...stated, usage: booked }
  }
  return { ...outcome, usage: { ...booked, input_tokens: estimateInputOf(call.kind, call.body) } }
}

const hasInput = (usage: TokenCounts): boolean =>
  usage.input_tokens + usage.cache_read_tokens + usage.cache_write_5m_tokens + usage.cache_write_1h_tokens > 0
