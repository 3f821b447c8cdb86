import { invalid } from '../../../platform/errors.ts'
import { countOf, isRecord, type Json, nonEmptyText } from '../../../platform/json.ts'
import type { CanonicalRequest } from '../../core/codec.ts'
import { extrasOf } from '../shared/extras.ts'
import { cleanSchema } from './schema.ts'
import { type Losses, type ModelTraits, type ThinkingControl, type ThinkingLevel, thinkingLevels } from './traits.ts'

interface Options {
  readonly traits: ModelTraits
  readonly losses: Losses
  readonly hasTools: boolean
}

const maxStopSequences = 5

/** The `generationConfig` of a request. */
export function generationConfigOf(request: CanonicalRequest, options: Options): Json {
  const { traits, losses } = options
  const { seed, presence_penalty: presencePenalty, frequency_penalty: frequencyPenalty } = extrasOf(request)
  const config = {
    maxOutputTokens: outputTokensOf(request, options),
    temperature: numberOf(request, 'temperature', losses),
    topP: numberOf(request, 'top_p', losses),
    topK: numberOf(request, 'top_k', losses),
    stopSequences: stopSequencesOf(request, losses),
    ...responseSchemaOf(request, options),
    thinkingConfig: thinkingConfigOf(request, traits, losses),
    seed,
    presencePenalty,
    frequencyPenalty,
  }
  return Object.fromEntries(Object.entries(config).filter(([, value]) => value !== undefined))
}

function outputTokensOf({ max_tokens: max }: CanonicalRequest, { traits, losses }: Options): number | undefined {
  const asked = countOf(max)
  const most = traits.maxOutputTokens
  if (asked === undefined || most === undefined || asked <= most) return asked
  losses.note('max_tokens', 'lowered')
  return most
}

function numberOf(request: CanonicalRequest, field: string, losses: Losses): number | undefined {
  const value = request[field]
  if (typeof value === 'number') return value
  if (value !== undefined && value !== null) losses.note(field, 'dropped')
  return undefined
}

function stopSequencesOf(request: CanonicalRequest, losses: Losses): readonly string[] | undefined {
  const { stop_sequences: given } = request
  const sequences = Array.isArray(given) ? given.filter(text => nonEmptyText(text) !== undefined) : []
  if (sequences.length > maxStopSequences) losses.note('stop_sequences', 'cut')
  return sequences.length === 0 ? undefined : sequences.slice(0, maxStopSequences)
}

/** Where a request may state the form of its answer, the current field first. */
function formatOf({ output_config: config, output_format: old }: CanonicalRequest) {
  const format = isRecord(config) ? config['format'] : undefined
  return isRecord(format) ? { format, path: 'output_config.format' } : { format: old, path: 'output_format' }
}

function responseSchemaOf(request: CanonicalRequest, { traits, losses, hasTools }: Options): Json {
  noteOutputConfig(request, losses)
  const { format, path } = formatOf(request)
  if (!isRecord(format)) return {}
  if (format['type'] !== 'json_schema') throw invalid(`${path}.type must be json_schema`)
  if (hasTools && !traits.combinesTools) throw invalid(`${path}: this model cannot keep to a schema beside tools`)
  const { schema, isSimplified } = cleanSchema(format['schema'])
  if (isSimplified) losses.note(`${path}.schema`, 'simplified')
  return { responseMimeType: 'application/json', responseSchema: schema }
}

function noteOutputConfig({ output_config: config }: CanonicalRequest, losses: Losses): void {
  for (const field of isRecord(config) ? Object.keys(config) : []) {
    if (field !== 'effort' && field !== 'format') losses.note(`output_config.${field}`, 'dropped')
  }
}

/** What the client asks for. `unsaid` is not `off`: the model's own default holds then. */
interface Wish {
  readonly mode: 'unsaid' | 'off' | 'adaptive' | 'budget'
  readonly budget: number | undefined
  readonly effort: string | undefined
  readonly wantsText: boolean
  readonly maxTokens: number | undefined
}

/**
 * Gemini counts thoughts as output. A client that asks for a short answer and for no thinking would get an empty one,
 * so the model is told to think as little as it can. Our choice.
 */
const shortAnswerTokens = 4_096

const levelsOfEffort: Readonly<Record<string, ThinkingLevel>> = {
  minimal: 'MINIMAL',
  low: 'LOW',
  medium: 'MEDIUM',
  high: 'HIGH',
  xhigh: 'HIGH',
  max: 'HIGH',
}

/** Source: Google's own mapping of effort to budgets; the two beyond `high` take what the model allows. */
const budgetsOfEffort: Readonly<Record<string, number>> = {
  minimal: 0,
  low: 1_024,
  medium: 8_192,
  high: 24_576,
  xhigh: Number.POSITIVE_INFINITY,
  max: Number.POSITIVE_INFINITY,
}

/** The `thinkingConfig` of a request; undefined leaves the model to its default. */
export function thinkingConfigOf(
  request: CanonicalRequest,
  { thinking: control }: Pick<ModelTraits, 'thinking'>,
  losses: Losses,
): Json | undefined {
  const wish = wishOf(request, losses)
  switch (control.by) {
    case 'nothing':
      if (wish.mode === 'adaptive' || wish.mode === 'budget') losses.note('thinking', 'dropped')
      if (wish.effort !== undefined) losses.note('output_config.effort', 'dropped')
      return undefined
    case 'level':
      return configOf(wish, { thinkingLevel: levelOf(wish, control.levels, losses) })
    case 'budget':
      return configOf(wish, { thinkingBudget: budgetOf(wish, control, losses) })
  }
}

function wishOf({ thinking, output_config: config, max_tokens: max }: CanonicalRequest, losses: Losses): Wish {
  const said = isRecord(thinking) ? thinking : {}
  const type = said['type']
  const effort = isRecord(config) ? nonEmptyText(config['effort']) : undefined
  const isKnown = effort === undefined || effort in levelsOfEffort
  if (!isKnown) losses.note('output_config.effort', 'dropped')
  return {
    mode: type === 'enabled' ? 'budget' : type === 'adaptive' ? 'adaptive' : type === 'disabled' ? 'off' : 'unsaid',
    budget: countOf(said['budget_tokens']),
    effort: isKnown ? effort : undefined,
    wantsText: said['display'] !== 'omitted',
    maxTokens: countOf(max),
  }
}

function configOf({ mode, wantsText }: Wish, setting: Json): Json | undefined {
  const includeThoughts = (mode === 'adaptive' || mode === 'budget') && wantsText ? { includeThoughts: true } : {}
  const set = Object.entries(setting).filter(([, value]) => value !== undefined)
  const config = { ...includeThoughts, ...Object.fromEntries(set) }
  return Object.keys(config).length === 0 ? undefined : config
}

const isShort = ({ mode, maxTokens }: Wish): boolean =>
  mode === 'unsaid' && maxTokens !== undefined && maxTokens < shortAnswerTokens

function levelOf(wish: Wish, levels: readonly ThinkingLevel[], losses: Losses): ThinkingLevel | undefined {
  if (wish.mode === 'off') {
    losses.note('thinking', 'approximated')
    return levels[0]
  }
  if (wish.effort !== undefined) return nearest(levelsOfEffort[wish.effort] ?? 'HIGH', levels)
  if (isShort(wish)) return levels[0]
  if (wish.mode !== 'budget' || wish.budget === undefined) return undefined
  losses.note('thinking.budget_tokens', 'approximated')
  const level = wish.budget < 4_096 ? 'LOW' : wish.budget < 16_384 ? 'MEDIUM' : 'HIGH'
  return nearest(level, levels)
}

/** The least level that is not below the wanted one. */
const nearest = (wanted: ThinkingLevel, levels: readonly ThinkingLevel[]): ThinkingLevel | undefined =>
  levels.find(level => thinkingLevels.indexOf(level) >= thinkingLevels.indexOf(wanted)) ?? levels.at(-1)

type BudgetControl = Extract<ThinkingControl, { by: 'budget' }>

function budgetOf(wish: Wish, { min, max, off }: BudgetControl, losses: Losses): number | undefined {
  const within = (budget: number): number => Math.min(max, Math.max(min, budget))
  if (wish.mode === 'off') {
    if (off > 0) losses.note('thinking', 'approximated')
    return off
  }
  if (wish.mode === 'budget' && wish.budget !== undefined) {
    const budget = within(wish.budget)
    if (budget !== wish.budget) losses.note('thinking.budget_tokens', 'clamped')
    return budget
  }
  if (wish.effort !== undefined) return within(budgetsOfEffort[wish.effort] ?? max)
  if (isShort(wish)) return off
  // -1 lets the model decide.
  return wish.mode === 'adaptive' ? -1 : undefined
}
