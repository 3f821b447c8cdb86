import { invalid } from '../../../platform/errors.ts'
import { isAbsent, isRecord, type Json, listOf, textIn } from '../../../platform/json.ts'
import { baseModelOf, type Target } from '../../core/call.ts'
import { type Block, textBlocks } from '../shared/content-parts.ts'
import { traitsOf } from '../shared/model-traits.ts'
import { anthropicSettings, effortOfBudget, jsonHint, type Note } from '../shared/settings.ts'
import { closedSchema, field, jsonSchemaOf, objectField } from './fields.ts'

interface Options {
  readonly target: Target
  readonly note: Note
  /** True when the model must call a tool. */
  readonly isForced: boolean
}

interface GenerationSettings {
  /** In Anthropic's format. */
  readonly settings: Json
  /** Instructions that replace settings which Anthropic's format does not have. */
  readonly hints: readonly Block[]
  /** True when the client requests the thinking text. */
  readonly showsThoughts: boolean
}

const at = 'generationConfig'

/** Converts the `generationConfig` of a request. */
export function generationSettings(config: Json, { target, note, isForced }: Options): GenerationSettings {
  checkServable(config)
  const { format, hints } = formatOf(config, note)
  const thinking = thinkingSettings(objectField(config, 'thinkingConfig'), { target, note })
  const settings = anthropicSettings(
    {
      temperature: numberIn(config, 'temperature'),
      top_p: numberIn(config, 'topP'),
      top_k: numberIn(config, 'topK'),
      stop: stopsIn(config),
      maxTokens: Number(field(config, 'maxOutputTokens') ?? 0),
      format,
      user: undefined,
      isForced,
      ...thinking,
    },
    {
      target,
      note: (path, action) => note(places[path] ?? path, action),
      paths: { effort: `${at}.thinkingConfig`, format: `${at}.responseSchema` },
    },
  )
  return { settings, hints, showsThoughts: thinking.showsThinking }
}

/** Paths in the client's request, by common setting name. */
const places: Readonly<Record<string, string>> = {
  temperature: `${at}.temperature`,
  top_p: `${at}.topP`,
  top_k: `${at}.topK`,
  stop: `${at}.stopSequences`,
}

/** Rejects settings that cannot be dropped, because the answer would not be what the client requested. */
function checkServable(config: Json): void {
  const count = field(config, 'candidateCount')
  if (!isAbsent(count) && count !== 1)
    throw invalid(`${at}.candidateCount must be 1: this model returns one answer per call`)
  const modalities = field(config, 'responseModalities')
  const others = listOf(modalities).filter(kind => String(kind).toUpperCase() !== 'TEXT')
  if (others.length > 0) throw invalid(`${at}.responseModalities: this model returns only text`)
}

function numberIn(config: Json, name: string): unknown {
  const value = field(config, name)
  if (!isAbsent(value) && typeof value !== 'number') throw invalid(`${at}.${name} must be a number`)
  return value
}

function stopsIn(config: Json): readonly string[] {
  const stops = field(config, 'stopSequences')
  if (isAbsent(stops)) return []
  if (!Array.isArray(stops) || !stops.every(stop => typeof stop === 'string'))
    throw invalid(`${at}.stopSequences must be an array of strings`)
  return stops
}

/** Returns the response format in OpenAI's form, or the instruction that replaces it. */
function formatOf(config: Json, note: Note): { readonly format?: Json; readonly hints: readonly Block[] } {
  const type = textIn(field(config, 'responseMimeType'))
  const own = field(config, 'responseSchema')
  const plain = field(config, 'responseJsonSchema') ?? field(config, '_responseJsonSchema')
  const schema = isAbsent(own) ? plain : jsonSchemaOf(own, `${at}.responseSchema`)
  if (type === undefined || type === 'text/plain') return { hints: [] }
  if (type === 'text/x.enum') return { hints: enumHint(schema, note) }
  if (type !== 'application/json') throw invalid(`${at}.responseMimeType ${type.slice(0, 100)} is not supported`)
  if (isAbsent(schema)) return { hints: textBlocks(jsonHint({ type: 'json_object' }, `${at}.responseMimeType`, note)) }
  const path = isAbsent(own) ? `${at}.responseJsonSchema` : `${at}.responseSchema`
  if (!isRecord(schema)) throw invalid(`${path} must be an object`)
  return { format: { type: 'json_schema', schema: closedSchema(schema, path) }, hints: [] }
}

function enumHint(schema: unknown, note: Note): readonly Block[] {
  const values = isRecord(schema) ? listOf(schema['enum']) : []
  if (values.length === 0) throw invalid(`${at}.responseSchema must have an enum for text/x.enum`)
  note(`${at}.responseMimeType`, 'told_in_system')
  return textBlocks(`Answer with exactly one of these, and nothing else: ${values.map(String).join(', ')}`)
}

interface ThinkingSettings {
  readonly effort: string | undefined
  readonly budget?: number
  readonly showsThinking: boolean
}

/** Reads the thinking settings: a level for newer models, a budget for older ones (0 turns it off, -1 is unlimited). */
function thinkingSettings(config: Json, { target, note }: Pick<Options, 'target' | 'note'>): ThinkingSettings {
  const showsThinking = field(config, 'includeThoughts') === true
  const level = levelOf(field(config, 'thinkingLevel'))
  const budget = field(config, 'thinkingBudget')
  if (level !== undefined || isAbsent(budget)) return { effort: level, showsThinking }
  if (typeof budget !== 'number' || !Number.isInteger(budget))
    throw invalid(`${at}.thinkingConfig.thinkingBudget must be an integer`)
  if (budget === 0) return { effort: 'none', showsThinking: false }
  if (budget < 0) return { effort: 'high', showsThinking }
  if (traitsOf(baseModelOf(target)).thinking === 'adaptive') note(`${at}.thinkingConfig.thinkingBudget`, 'approximated')
  return { effort: effortOfBudget(budget), budget, showsThinking }
}

const levels: ReadonlySet<string> = new Set(['minimal', 'low', 'medium', 'high'])

function levelOf(level: unknown): string | undefined {
  if (isAbsent(level) || level === 'THINKING_LEVEL_UNSPECIFIED') return undefined
  const name = String(level).toLowerCase()
  if (!levels.has(name)) throw invalid(`${at}.thinkingConfig.thinkingLevel must be MINIMAL, LOW, MEDIUM or HIGH`)
  return name
}
