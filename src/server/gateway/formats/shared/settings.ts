import { isOpenAiFormat } from '../../../config/protocols.ts'
import { invalid } from '../../../platform/errors.ts'
import { compact, isAbsent, isRecord, type Json, recordOf, textIn } from '../../../platform/json.ts'
import { baseModelOf, type Target } from '../../core/call.ts'
import { modelLimits } from '../../pricing/price-book.ts'
import { type ModelTraits, traitsOf } from './model-traits.ts'

/** Records a degradation of the request. The default action is `dropped`. */
export type Note = (path: string, action?: string) => void

/** Settings common to the client formats. Absent ones may be null. */
export interface Settings extends ReasoningSettings {
  readonly temperature: unknown
  readonly top_p: unknown
  readonly top_k: unknown
  /** Stop sequences. */
  readonly stop: readonly string[]
  /** 0 for no limit. */
  readonly maxTokens: number
  /** OpenAI's response format, such as `{type: 'json_schema', ...}`. */
  readonly format: unknown
  readonly user: unknown
}

interface Options {
  readonly target: Pick<Target, 'protocol' | 'upstreamModel' | 'deployment'>
  readonly note: Note
  /** Paths in the client's format. */
  readonly paths: { readonly effort: string; readonly format: string }
}

/** Returns the settings in Anthropic's format. Keys have a fixed order. */
export function anthropicSettings(settings: Settings, { target, note, paths }: Options): Json {
  const traits = traitsOf(baseModelOf(target))
  const maxTokens = settings.maxTokens || undefined
  const { thinking, effort } = reasoningFor(settings, {
    traits,
    maxTotalTokens: maxTokens ?? modelLimits(target).maxOutput,
    note: action => note(paths.effort, action),
  })
  const format = outputFormat(settings.format, paths.format, target)
  const stops = settings.stop.filter(text => text.trim() !== '')
  if (stops.length < settings.stop.length) note('stop', 'blank_dropped')
  const config = { ...(effort && { effort }), ...(format && { format }) }
  const user = textIn(settings.user)
  return {
    ...(maxTokens !== undefined && { max_tokens: maxTokens }),
    ...sampling(settings, { isRejected: !traits.takesSampling, thinks: thinking?.['type'] === 'enabled', note }),
    ...(stops.length > 0 && { stop_sequences: stops }),
    ...(thinking && { thinking }),
    ...(Object.keys(config).length > 0 && { output_config: config }),
    ...(user && { metadata: { user_id: user } }),
  }
}

interface SamplingRules {
  readonly isRejected: boolean
  readonly thinks: boolean
  readonly note: Note
}

function sampling(settings: Settings, { isRejected, thinks, note }: SamplingRules): Json {
  const accepted: Record<string, number> = {}
  for (const name of ['temperature', 'top_p', 'top_k'] as const) {
    const value = settings[name]
    if (isAbsent(value)) continue
    if (typeof value !== 'number') throw invalid(`${name} must be a number`)
    if (isRejected || thinks) note(name)
    else accepted[name] = value
  }
  return accepted
}

function outputFormat(format: unknown, path: string, { protocol }: Pick<Target, 'protocol'>): Json | undefined {
  if (!isRecord(format)) return undefined
  const { type } = format
  if (type === 'json_object') return isOpenAiFormat(protocol) ? { type } : undefined
  if (type !== 'json_schema') return undefined
  const given = isRecord(format['json_schema']) ? format['json_schema'] : format
  const { schema, name, description, strict } = given
  if (!isRecord(schema)) throw invalid(`${path}.schema must be an object`)
  if (!isOpenAiFormat(protocol)) return { type, schema }
  return compact({ type, schema, name: textIn(name), description: textIn(description), strict: strict ?? undefined })
}

/** Returns the instruction that replaces the response format `json_object`, which Anthropic's format does not have. */
export function jsonHint(format: unknown, path: string, note: Note): string | undefined {
  if (recordOf(format)['type'] !== 'json_object') return undefined
  note(path, 'told_in_system')
  return 'Answer with one JSON object and nothing else: no prose around it and no code fence.'
}

/** Reasoning settings of a request. */
interface ReasoningSettings {
  /** One of OpenAI's efforts; null and undefined select the model's default. */
  readonly effort: unknown
  /** Thinking budget given by the client, in tokens. */
  readonly budget?: number
  /** True when the client requests the thinking text. */
  readonly showsThinking: boolean
  /** True when the model must call a tool. It cannot think then. */
  readonly isForced: boolean
}

interface Rules {
  readonly traits: ModelTraits
  /** Maximum tokens of answer and thinking together; undefined if unknown. */
  readonly maxTotalTokens: number | undefined
  /** Records a degradation of the effort. */
  readonly note: (action: string) => void
}

interface Reasoning {
  readonly thinking?: Json
  readonly effort?: string
}

/** Returns `thinking` and `output_config.effort` in Anthropic's format, if the model accepts them. */
function reasoningFor({ effort, budget, showsThinking, isForced }: ReasoningSettings, rules: Rules): Reasoning {
  const { traits, note } = rules
  if (effort === 'none') return traits.noThinking === 'omitted' ? {} : { thinking: { type: 'disabled' } }
  if (isAbsent(effort) && !showsThinking) return {}
  const level = isAbsent(effort) ? undefined : nearestEffort(effort, traits, note)
  const obstacle = obstacleOf(isForced, traits)
  if (obstacle !== undefined) {
    if (level !== undefined) note(obstacle)
    return {}
  }
  if (traits.thinking === 'budget') return level === undefined ? {} : budgetFor(level, rules, budget)
  const thinking = { type: 'adaptive', ...(showsThinking && { display: 'summarized' }) }
  return level === undefined ? { thinking } : { thinking, effort: level }
}

/** Returns what to record if the model cannot think in this call. */
function obstacleOf(isForced: boolean, { thinking, takesForcedChoice }: ModelTraits): string | undefined {
  if (thinking === 'none') return 'dropped'
  return isForced && takesForcedChoice ? 'thinking_off' : undefined
}

const budgets: Readonly<Record<string, number>> = {
  low: 2_048,
  medium: 8_192,
  high: 16_384,
  xhigh: 32_768,
  max: 32_768,
}

/** Returns the nearest effort that the model supports. */
function nearestEffort(effort: unknown, { efforts }: ModelTraits, note: Rules['note']): string {
  const requested = effort === 'minimal' ? 'low' : effort
  if (typeof requested !== 'string' || !Object.hasOwn(budgets, requested))
    throw invalid(`reasoning effort ${String(effort)} is unknown; use none, minimal, low, medium, high, xhigh or max`)
  const nearest = efforts.length === 0 || efforts.includes(requested) ? requested : 'high'
  if (nearest !== effort) note(nearest)
  return nearest
}

/** Returns the effort nearest to a thinking budget, in tokens. Our choice. */
export const effortOfBudget = (budget: number): string => (budget < 4_096 ? 'low' : budget < 16_384 ? 'medium' : 'high')

const minBudget = 1_024

/** Returns a thinking budget. It counts towards the token limit, of which half is reserved for the answer. */
function budgetFor(
  level: string,
  { maxTotalTokens = Number.POSITIVE_INFINITY, note }: Rules,
  requested?: number,
): Reasoning {
  const wanted = Math.max(minBudget, requested ?? budgets[level] ?? 0)
  const budget = Math.min(wanted, Math.floor(maxTotalTokens / 2))
  if (budget < minBudget) {
    note('thinking_off')
    return {}
  }
  if (budget !== requested) note('thinking_budget')
  return { thinking: { type: 'enabled', budget_tokens: budget } }
}

/** Values with no effect. They are not recorded as dropped. */
const noOpValues: Readonly<Record<string, readonly unknown[]>> = {
  n: [1],
  logprobs: [false],
  presence_penalty: [0],
  frequency_penalty: [0],
  store: [false],
  background: [false],
  service_tier: ['auto', 'default'],
  verbosity: ['medium'],
  truncation: ['disabled'],
  top_logprobs: [0],
}

interface Used {
  readonly used: ReadonlySet<string>
  /** Settings passed to the upstream unchanged. */
  readonly extras: Json
}

/** Records each field of `request` that has an effect and was not used. */
export function noteUnused(request: Json, { used, extras }: Used, note: Note): void {
  for (const name in request) {
    const value = request[name]
    if (isAbsent(value) || used.has(name) || Object.hasOwn(extras, name) || noOpValues[name]?.includes(value)) continue
    note(name.replaceAll(/[^\w.-]/g, '_').slice(0, 60))
  }
}
