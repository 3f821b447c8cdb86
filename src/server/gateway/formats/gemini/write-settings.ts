import { invalid } from '../../../platform/errors.ts'
import { countOf, isRecord, type Json, nonEmptyText } from '../../../platform/json.ts'
import type { CanonicalRequest } from '../../core/codec.ts'
import { extrasOf } from '../shared/extras.ts'
import { cleanSchema } from './schema.ts'
import {
  type Degradations,
  type ModelTraits,
  type ThinkingControl,
  type ThinkingLevel,
  thinkingLevels,
} from './traits.ts'

interface Options {
  readonly traits: ModelTraits
  readonly degradations: Degradations
  readonly hasTools: boolean
}

const maxStopSequences = 5

/** Returns the `generationConfig` of a request. */
export function generationConfigOf(request: CanonicalRequest, options: Options): Json {
  const { traits, degradations } = options
  const { seed, presence_penalty: presencePenalty, frequency_penalty: frequencyPenalty } = extrasOf(request)
  const config = {
    maxOutputTokens: outputTokensOf(request, options),
    temperature: numberOf(request, 'temperature', degradations),
    topP: numberOf(request, 'top_p', degradations),
    topK: numberOf(request, 'top_k', degradations),
    stopSequences: stopSequencesOf(request, degradations),
    ...responseSchemaOf(request, options),
    thinkingConfig: thinkingConfigOf(request, traits, degradations),
    seed,
    presencePenalty,
    frequencyPenalty,
  }
  return Object.fromEntries(Object.entries(config).filter(([, value]) => value !== undefined))
}

function outputTokensOf(
  { max_tokens: maxTokens }: CanonicalRequest,
  { traits, degradations }: Options,
): number | undefined {
  const wanted = countOf(maxTokens)
  const max = traits.maxOutputTokens
  if (wanted === undefined || max === undefined || wanted <= max) return wanted
  degradations.note('max_tokens', 'lowered')
  return max
}

function numberOf(request: CanonicalRequest, field: string, degradations: Degradations): number | undefined {
  const value = request[field]
  if (typeof value === 'number') return value
  if (value !== undefined && value !== null) degradations.note(field, 'dropped')
  return undefined
}

function stopSequencesOf(request: CanonicalRequest, degradations: Degradations): readonly string[] | undefined {
  const { stop_sequences: given } = request
  const sequences = Array.isArray(given) ? given.filter(text => nonEmptyText(text) !== undefined) : []
  if (sequences.length > maxStopSequences) degradations.note('stop_sequences', 'cut')
  return sequences.length === 0 ? undefined : sequences.slice(0, maxStopSequences)
}

/** Returns the output format and its path: `output_config.format`, or the older `output_format`. */
function formatOf({ output_config: config, output_format: old }: CanonicalRequest) {
  const format = isRecord(config) ? config['format'] : undefined
  return isRecord(format) ? { format, path: 'output_config.format' } : { format: old, path: 'output_format' }
}

function responseSchemaOf(request: CanonicalRequest, { traits, degradations, hasTools }: Options): Json {
  noteOutputConfig(request, degradations)
  const { format, path } = formatOf(request)
  if (!isRecord(format)) return {}
  if (format['type'] !== 'json_schema') throw invalid(`${path}.type must be json_schema`)
  if (hasTools && !traits.combinesTools)
    throw invalid(`${path}: this model does not support a schema together with tools`)
  const { schema, isSimplified } = cleanSchema(format['schema'])
  if (isSimplified) degradations.note(`${path}.schema`, 'simplified')
  return { responseMimeType: 'application/json', responseSchema: schema }
}

function noteOutputConfig({ output_config: config }: CanonicalRequest, degradations: Degradations): void {
  for (const field of isRecord(config) ? Object.keys(config) : []) {
    if (field !== 'effort' && field !== 'format') degradations.note(`output_config.${field}`, 'dropped')
  }
}

/** Thinking settings of a request. `default` is not `off`: it selects the model's own default. */
interface ThinkingRequest {
  readonly mode: 'default' | 'off' | 'adaptive' | 'budget'
  readonly budget: number | undefined
  readonly effort: string | undefined
  readonly wantsText: boolean
  readonly maxTokens: number | undefined
}

/**
 * Below this limit, in tokens, thinking is minimised if the request does not configure it. Gemini counts thoughts as
 * output, so that thinking could use up the limit and leave an empty answer. Our choice.
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

/** Thinking budgets in tokens; `xhigh` and `max` use the model's maximum. Source: Google's mapping of efforts. */
const budgetsOfEffort: Readonly<Record<string, number>> = {
  minimal: 0,
  low: 1_024,
  medium: 8_192,
  high: 24_576,
  xhigh: Number.POSITIVE_INFINITY,
  max: Number.POSITIVE_INFINITY,
}

/** Returns the `thinkingConfig` of a request; undefined for the model's default. */
export function thinkingConfigOf(
  request: CanonicalRequest,
  { thinking: control }: Pick<ModelTraits, 'thinking'>,
  degradations: Degradations,
): Json | undefined {
  const requested = thinkingRequestOf(request, degradations)
  switch (control.by) {
    case 'nothing':
      if (requested.mode === 'adaptive' || requested.mode === 'budget') degradations.note('thinking', 'dropped')
      if (requested.effort !== undefined) degradations.note('output_config.effort', 'dropped')
      return undefined
    case 'level':
      return configOf(requested, { thinkingLevel: levelOf(requested, control.levels, degradations) })
    case 'budget':
      return configOf(requested, { thinkingBudget: budgetOf(requested, control, degradations) })
  }
}

function thinkingRequestOf(
  { thinking, output_config: config, max_tokens: max }: CanonicalRequest,
  degradations: Degradations,
): ThinkingRequest {
  const given = isRecord(thinking) ? thinking : {}
  const type = given['type']
  const effort = isRecord(config) ? nonEmptyText(config['effort']) : undefined
  const isKnown = effort === undefined || effort in levelsOfEffort
  if (!isKnown) degradations.note('output_config.effort', 'dropped')
  return {
    mode: type === 'enabled' ? 'budget' : type === 'adaptive' ? 'adaptive' : type === 'disabled' ? 'off' : 'default',
    budget: countOf(given['budget_tokens']),
    effort: isKnown ? effort : undefined,
    wantsText: given['display'] !== 'omitted',
    maxTokens: countOf(max),
  }
}

function configOf({ mode, wantsText }: ThinkingRequest, setting: Json): Json | undefined {
  const includeThoughts = (mode === 'adaptive' || mode === 'budget') && wantsText ? { includeThoughts: true } : {}
  const set = Object.entries(setting).filter(([, value]) => value !== undefined)
  const config = { ...includeThoughts, ...Object.fromEntries(set) }
  return Object.keys(config).length === 0 ? undefined : config
}

const isShort = ({ mode, maxTokens }: ThinkingRequest): boolean =>
  mode === 'default' && maxTokens !== undefined && maxTokens < shortAnswerTokens

function levelOf(
  requested: ThinkingRequest,
  levels: readonly ThinkingLevel[],
  degradations: Degradations,
): ThinkingLevel | undefined {
  if (requested.mode === 'off') {
    degradations.note('thinking', 'approximated')
    return levels[0]
  }
  if (requested.effort !== undefined) return nearest(levelsOfEffort[requested.effort] ?? 'HIGH', levels)
  if (isShort(requested)) return levels[0]
  if (requested.mode !== 'budget' || requested.budget === undefined) return undefined
  degradations.note('thinking.budget_tokens', 'approximated')
  const level = requested.budget < 4_096 ? 'LOW' : requested.budget < 16_384 ? 'MEDIUM' : 'HIGH'
  return nearest(level, levels)
}

/** Returns the lowest level at or above the wanted one; else the highest. */
const nearest = (wanted: ThinkingLevel, levels: readonly ThinkingLevel[]): ThinkingLevel | undefined =>
  levels.find(level => thinkingLevels.indexOf(level) >= thinkingLevels.indexOf(wanted)) ?? levels.at(-1)

type BudgetControl = Extract<ThinkingControl, { by: 'budget' }>

function budgetOf(
  requested: ThinkingRequest,
  { min, max, off }: BudgetControl,
  degradations: Degradations,
): number | undefined {
  const within = (budget: number): number => Math.min(max, Math.max(min, budget))
  if (requested.mode === 'off') {
    if (off > 0) degradations.note('thinking', 'approximated')
    return off
  }
  if (requested.mode === 'budget' && requested.budget !== undefined) {
    const budget = within(requested.budget)
    if (budget !== requested.budget) degradations.note('thinking.budget_tokens', 'clamped')
    return budget
  }
  if (requested.effort !== undefined) return within(budgetsOfEffort[requested.effort] ?? max)
  if (isShort(requested)) return off
  // -1 lets the model decide.
  return requested.mode === 'adaptive' ? -1 : undefined
}
