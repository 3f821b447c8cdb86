import type { UsageCall } from '../../../../src/contract/usage.ts'
import type { Group, Turn } from '../../session-log/view.ts'

/** Cost of a model request in US dollars, as an exact decimal; null: its price is unknown. */
export type Cost = string | null

/**
 * Returns the cost of each model request by the key of its group. The log does not name the calls of the ledger, so the
 * requests of a prompt take its calls in their order, each the next one with the same tokens.
 */
export function costsOf(turns: readonly Turn[], calls: readonly UsageCall[]): ReadonlyMap<string, Cost> {
  const byPrompt = Map.groupBy(calls, ({ prompt_id: id }) => id)
  const costs = new Map<string, Cost>()
  for (const { prompt, groups } of turns) {
    const left = [...(byPrompt.get(prompt?.id ?? null) ?? [])].sort(byStart)
    for (const group of groups) {
      const at = left.findIndex(call => isCallOf(group, call))
      if (at < 0) continue
      costs.set(group.key, left[at]?.cost_usd ?? null)
      left.splice(at, 1)
    }
  }
  return costs
}

/** Ids of requests are ordered by time. */
const byStart = (a: UsageCall, b: UsageCall): number => ((a.request_id ?? '') < (b.request_id ?? '') ? -1 : 1)

const isCallOf = ({ usage }: Group, call: UsageCall): boolean =>
  usage !== undefined && call.input_tokens === usage.input && call.output_tokens === usage.output
