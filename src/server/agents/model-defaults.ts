import { invalid } from '../platform/errors.ts'
import { isRecord, type Json } from '../platform/json.ts'

type Check = (value: unknown, settings: Json) => string | undefined

/** Efforts of the Messages API; translation maps them to the nearest value a model supports. */
const efforts = ['low', 'medium', 'high', 'xhigh', 'max']
const maxFallbacks = 5
const minBudgetTokens = 1_024

const between =
  (min: number, max: number): Check =>
  value =>
    typeof value === 'number' && value >= min && value <= max ? undefined : `must be a number from ${min} to ${max}`

/** Checks of the settings in `config.model_settings`: each returns the problem of a value, or undefined. */
const checks: Readonly<Record<string, Check>> = {
  effort: value =>
    typeof value === 'string' && efforts.includes(value) ? undefined : `must be one of ${efforts.join(', ')}`,
  thinking: thinkingProblem,
  temperature: between(0, 2),
  top_p: between(0, 1),
  max_tokens: value =>
    Number.isInteger(value) && Number(value) >= 1 && Number(value) <= 10_000_000
      ? undefined
      : 'must be a whole number from 1 to 10000000',
  fallbacks: value =>
    Array.isArray(value) && value.length <= maxFallbacks && value.every(isModelName)
      ? undefined
      : `must be a list of at most ${maxFallbacks} model names`,
}

/** The names are sent in a header, separated by commas. */
const isModelName = (name: unknown): boolean =>
  typeof name === 'string' && name.length <= 200 && name.trim() !== '' && !/[^\x21-\x7e]|,/.test(name)

function thinkingProblem(value: unknown, { max_tokens: maxTokens }: Json): string | undefined {
  const kinds = 'must be {"type": "adaptive"}, {"type": "disabled"} or {"type": "enabled", "budget_tokens": 4096}'
  if (!isRecord(value)) return kinds
  const { type, budget_tokens: budget } = value
  if (type === 'adaptive' || type === 'disabled') return Object.keys(value).length === 1 ? undefined : kinds
  if (type !== 'enabled') return kinds
  if (!Number.isInteger(budget) || Number(budget) < minBudgetTokens)
    return `must have budget_tokens of ${minBudgetTokens} or more`
  return typeof maxTokens === 'number' && Number(budget) >= maxTokens
    ? 'must have budget_tokens below max_tokens'
    : undefined
}

/** Throws `invalid` for a setting that is unknown or out of range; null removes one. The message names the field. */
export function checkModelSettings(config: Json | null | undefined): void {
  const settings = config?.['model_settings']
  if (settings === undefined || settings === null) return
  if (!isRecord(settings)) throw invalid('config.model_settings must be an object')
  for (const [name, value] of Object.entries(settings)) {
    const check = Object.hasOwn(checks, name) ? checks[name] : undefined
    if (!check)
      throw invalid(
        `config.model_settings.${name.slice(0, 100)} is unknown; known fields: ${Object.keys(checks).join(', ')}`,
      )
    const problem = value === null ? undefined : check(value, settings)
    if (problem !== undefined) throw invalid(`config.model_settings.${name} ${problem}`)
  }
}
