/** How much a model takes and gives, in tokens. */
export interface ModelLimits {
  readonly contextWindow?: number
  readonly maxOutput?: number
}

/** What the table of prices lacks: how long answers can be, and some windows. Source: the providers' own pages. */
const limits: readonly (readonly [names: RegExp, ModelLimits])[] = [
  [/claude-(opus-(4-[678]|5)|sonnet-(4-6|5)|fable-5)/, { maxOutput: 128_000 }],
  [/claude-((opus|haiku)-4-5|sonnet-4)/, { maxOutput: 64_000 }],
  [/claude-opus-4/, { maxOutput: 32_000 }],
  [/gpt-[56](?!.*(chat|image|audio))/, { maxOutput: 128_000 }],
  [/gpt-4-1/, { maxOutput: 32_768 }],
  [/gemini-(2-5|3)(?!.*(image|tts|live|audio))/, { contextWindow: 1_048_576, maxOutput: 65_536 }],
]

/** The limits of a model by its name alone; empty for a name that says nothing. */
export function limitsOf(model: string): ModelLimits {
  const name = model.toLowerCase().replaceAll('.', '-')
  return limits.find(([names]) => names.test(name))?.[1] ?? {}
}
