import type { UsageCall } from '../../../../../src/contract/usage.ts'

/** US dollars by prompt, of the calls with a known price. A prompt without such a call is absent. */
export type PromptCosts = ReadonlyMap<string, number>

/** Sums the cost of model calls by their prompt. */
export function promptCosts(calls: readonly Pick<UsageCall, 'prompt_id' | 'cost_usd'>[]): PromptCosts {
  const costs = new Map<string, number>()
  for (const { prompt_id: promptId, cost_usd: cost } of calls) {
    if (promptId === null || cost === null) continue
    costs.set(promptId, (costs.get(promptId) ?? 0) + Number(cost))
  }
  return costs
}
