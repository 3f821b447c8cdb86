import type { UsageCall } from '../../../../../../src/contract/usage.ts'

type Call = Pick<UsageCall, 'prompt_id' | 'cost_usd' | 'created_at'>

/** Cost of the consecutive calls of one prompt. */
export interface CostStep {
  readonly key: string
  /** null for calls outside of prompts. */
  readonly promptId: string | null
  /** Time of its last call. */
  readonly at: string
  readonly calls: number
  /** US dollars of the calls with a known price. */
  readonly costUsd: number
  /** No call has a known price. */
  readonly isUnknown: boolean
  /** US dollars of this step and all before it. */
  readonly sumUsd: number
}

/** Returns the cost of each prompt, oldest first. `calls` are newest first, as the API lists them. */
export function costSteps(calls: readonly Call[]): CostStep[] {
  const steps: CostStep[] = []
  let sumUsd = 0
  for (const { prompt_id: promptId, cost_usd: cost, created_at: at } of calls.toReversed()) {
    const usd = Number(cost ?? 0)
    sumUsd += usd
    const last = steps.at(-1)
    const isSame = last?.promptId === promptId
    const before = isSame ? last : { key: `${steps.length}:${promptId}`, calls: 0, costUsd: 0, isUnknown: true }
    const step = {
      key: before.key,
      promptId,
      at,
      calls: before.calls + 1,
      costUsd: before.costUsd + usd,
      isUnknown: before.isUnknown && cost === null,
      sumUsd,
    }
    if (isSame) steps[steps.length - 1] = step
    else steps.push(step)
  }
  return steps
}
