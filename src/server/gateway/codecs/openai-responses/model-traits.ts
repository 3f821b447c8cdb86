/** How much a model thinks, from least to most, in the words of the Responses API. */
export const efforts = ['none', 'low', 'medium', 'high', 'xhigh', 'max'] as const

/** One of `efforts`. */
export type Effort = (typeof efforts)[number]

/** What the model's name tells about what it takes. */
export interface ModelTraits {
  /** True for models that think: they refuse sampling settings and give reasoning items. */
  readonly reasons: boolean
  /** Empty for models that do not reason. */
  readonly efforts: readonly Effort[]
}

const upTo = (least: Effort, most: Effort): readonly Effort[] =>
  efforts.slice(efforts.indexOf(least), efforts.indexOf(most) + 1)

const plain: ModelTraits = { reasons: false, efforts: [] }
const reasoning = (least: Effort, most: Effort): ModelTraits => ({ reasons: true, efforts: upTo(least, most) })

/** The first row that matches counts. `minimal` is left out: it excludes web search and parallel calls. */
const table: readonly (readonly [RegExp, ModelTraits])[] = [
  [/^gpt-5-chat/, plain],
  [/^gpt-\d+\.\d+-chat/, reasoning('medium', 'medium')],
  [/^gpt-5-pro/, reasoning('high', 'high')],
  [/^gpt-5\.\d+-pro/, reasoning('medium', 'xhigh')],
  [/^gpt-5\.1-codex-max/, reasoning('low', 'xhigh')],
  [/^gpt-5(\.1)?-codex/, reasoning('low', 'high')],
  [/^gpt-5(-|$)/, reasoning('low', 'high')],
  [/^gpt-5\.1(-|$)/, reasoning('none', 'high')],
  [/^gpt-5\.[2-5]-codex/, reasoning('low', 'xhigh')],
  [/^gpt-5\.[2-5](-|$)/, reasoning('none', 'xhigh')],
  [/^gpt-5\.\d+-codex/, reasoning('low', 'max')],
  [/^gpt-5\.\d/, reasoning('none', 'max')],
  [/^gpt-(6-sol|6-luna|6\.1-terra)/, reasoning('none', 'max')],
  [/^gpt-([6-9]|\d\d)/, reasoning('low', 'max')],
  [/^(o\d|codex|gpt-oss)/, reasoning('low', 'high')],
]

/** The traits of an upstream model; a prefix such as `openai/` does not matter. An unknown name is taken as plain. */
export function traitsOf(model: string): ModelTraits {
  const name = model.slice(model.lastIndexOf('/') + 1).toLowerCase()
  return table.find(([pattern]) => pattern.test(name))?.[1] ?? plain
}

/** The most of what the model takes that is not above `wanted`, else its least. */
export function nearestEffort({ efforts: taken }: ModelTraits, wanted: Effort): Effort {
  const limit = efforts.indexOf(wanted)
  return taken.findLast(effort => efforts.indexOf(effort) <= limit) ?? taken[0] ?? wanted
}
