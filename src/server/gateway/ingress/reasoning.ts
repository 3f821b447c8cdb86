import { invalid } from '../../platform/errors.ts'
import { isAbsent, type Json } from '../../platform/json.ts'
import type { ModelTraits } from './model-traits.ts'

/** What a request wants of the model's thinking. */
export interface ReasoningWish {
  /** One of OpenAI's words; null and undefined leave it to the model. */
  readonly effort: unknown
  /** The number of tokens that the client itself gave, for models that want one. */
  readonly budget?: number
  /** True when the client wants to read what the model thinks. */
  readonly showsThinking: boolean
  /** True when the model must call a tool: it cannot think then. */
  readonly isForced: boolean
}

interface Rules {
  readonly traits: ModelTraits
  readonly maxTokens: number
  /** Takes down what became of the effort. */
  readonly note: (action: string) => void
}

interface Reasoning {
  readonly thinking?: Json
  readonly effort?: string
}

/** `thinking` and `output_config.effort` in Anthropic's format, where the model takes them. */
export function reasoningFor({ effort, budget, showsThinking, isForced }: ReasoningWish, rules: Rules): Reasoning {
  const { traits, note } = rules
  if (effort === 'none') return traits.noThinking === 'disabled' ? { thinking: { type: 'disabled' } } : {}
  if (isAbsent(effort) && !showsThinking) return {}
  const level = isAbsent(effort) ? undefined : knownEffort(effort, traits, note)
  if (isForced) {
    if (level !== undefined) note('thinking_off')
    return {}
  }
  if (traits.thinking === 'budget') return level === undefined ? {} : budgetFor(level, rules, budget)
  const thinking = { type: 'adaptive', ...(showsThinking && { display: 'summarized' }) }
  return level === undefined ? { thinking } : { thinking, effort: level }
}

const budgets: Readonly<Record<string, number>> = {
  low: 2_048,
  medium: 8_192,
  high: 16_384,
  xhigh: 32_768,
  max: 32_768,
}

/** The model's nearest effort. */
function knownEffort(effort: unknown, { efforts }: ModelTraits, note: Rules['note']): string {
  const asked = effort === 'minimal' ? 'low' : effort
  if (typeof asked !== 'string' || !Object.hasOwn(budgets, asked))
    throw invalid(`reasoning effort ${String(effort)} is not known`)
  const nearest = efforts.length === 0 || efforts.includes(asked) ? asked : 'high'
  if (nearest !== effort) note(nearest)
  return nearest
}

const leastBudget = 1_024

/** The budget is a part of the tokens of the answer, and half of them must remain for what is said. */
function budgetFor(level: string, { maxTokens, note }: Rules, asked?: number): Reasoning {
  const wanted = Math.max(leastBudget, asked ?? budgets[level] ?? 0)
  const budget = Math.min(wanted, Math.floor(maxTokens / 2))
  if (budget < leastBudget) {
    note('thinking_off')
    return {}
  }
  if (budget !== asked) note('thinking_budget')
  return { thinking: { type: 'enabled', budget_tokens: budget } }
}
