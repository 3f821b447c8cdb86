import { invalid } from '../../../platform/errors.ts'
import { compact, isAbsent, isRecord, type Json, recordOf, textIn } from '../../../platform/json.ts'
import { baseModelOf, type Target } from '../../core/call.ts'
import { modelLimits } from '../../pricing/price-book.ts'
import { isOpenAiFormat, type ModelTraits, traitsOf } from './model-traits.ts'

/** Takes down what became of something that could not be carried over. `dropped` unless an action is given. */
export type Note = (path: string, action?: string) => void

/** Settings of a request that both of OpenAI's formats have; those that are absent may be null. */
export interface Settings extends ReasoningWish {
  readonly temperature: unknown
  readonly top_p: unknown
  readonly top_k: unknown
  /** The texts that stop the answer. */
  readonly stop: readonly string[]
  /** 0 for none. */
  readonly maxTokens: number
  /** `{type: 'json_schema', ...}` and its like. */
  readonly format: unknown
  readonly user: unknown
}

interface Options {
  readonly target: Pick<Target, 'protocol' | 'upstreamModel' | 'deployment'>
  readonly note: Note
  /** Where the client's format has these. */
  readonly paths: { readonly effort: string; readonly format: string }
}

/** The settings in Anthropic's format. Keys always come in the same order. */
export function anthropicSettings(settings: Settings, { target, note, paths }: Options): Json {
  const traits = traitsOf(baseModelOf(target))
  const maxTokens = settings.maxTokens || undefined
  const { thinking, effort } = reasoningFor(settings, {
    traits,
    room: maxTokens ?? modelLimits(target).maxOutput,
    note: action => note(paths.effort, action),
  })
  const format = outputFormat(settings.format, paths.format, target)
  const stops = settings.stop.filter(text => text.trim() !== '')
  if (stops.length < settings.stop.length) note('stop', 'blank_dropped')
  const config = { ...(effort && { effort }), ...(format && { format }) }
  const user = textIn(settings.user)
  return {
    ...(maxTokens !== undefined && { max_tokens: maxTokens }),
    ...sampling(settings, { isRefused: !traits.takesSampling, thinks: thinking?.['type'] === 'enabled', note }),
    ...(stops.length > 0 && { stop_sequences: stops }),
    ...(thinking && { thinking }),
    ...(Object.keys(config).length > 0 && { output_config: config }),
    ...(user && { metadata: { user_id: user } }),
  }
}

interface SamplingRules {
  readonly isRefused: boolean
  readonly thinks: boolean
  readonly note: Note
}

function sampling(settings: Settings, { isRefused, thinks, note }: SamplingRules): Json {
  const kept: Record<string, number> = {}
  for (const name of ['temperature', 'top_p', 'top_k'] as const) {
    const value = settings[name]
    if (isAbsent(value)) continue
    if (typeof value !== 'number') throw invalid(`${name} must be a number`)
    if (isRefused || thinks) note(name)
    else kept[name] = value
  }
  return kept
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

/** What a model is told when any JSON object will do: Anthropic's format has no such setting. */
export function jsonHint(format: unknown, path: string, note: Note): string | undefined {
  if (recordOf(format)['type'] !== 'json_object') return undefined
  note(path, 'told_in_system')
  return 'Answer with one JSON object and nothing else: no prose around it and no code fence.'
}

/** What a request wants of the model's thinking. */
interface ReasoningWish {
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
  /** What the answer and the thinking before it may have together; undefined: nobody knows. */
  readonly room: number | undefined
  /** Takes down what became of the effort. */
  readonly note: (action: string) => void
}

interface Reasoning {
  readonly thinking?: Json
  readonly effort?: string
}

/** `thinking` and `output_config.effort` in Anthropic's format, where the model takes them. */
function reasoningFor({ effort, budget, showsThinking, isForced }: ReasoningWish, rules: Rules): Reasoning {
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
function budgetFor(level: string, { room = Number.POSITIVE_INFINITY, note }: Rules, asked?: number): Reasoning {
  const wanted = Math.max(leastBudget, asked ?? budgets[level] ?? 0)
  const budget = Math.min(wanted, Math.floor(room / 2))
  if (budget < leastBudget) {
    note('thinking_off')
    return {}
  }
  if (budget !== asked) note('thinking_budget')
  return { thinking: { type: 'enabled', budget_tokens: budget } }
}

/** Values that ask for nothing. */
const idle: Readonly<Record<string, readonly unknown[]>> = {
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
  /** Its fields went into the request as they are. */
  readonly extras: Json
}

/** Takes down every field of `request` that was given, asks for something and was not used. */
export function noteUnused(request: Json, { used, extras }: Used, note: Note): void {
  for (const name in request) {
    const value = request[name]
    if (isAbsent(value) || used.has(name) || Object.hasOwn(extras, name) || idle[name]?.includes(value)) continue
    note(name.replaceAll(/[^\w.-]/g, '_').slice(0, 60))
  }
}
