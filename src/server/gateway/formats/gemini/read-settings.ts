import { invalid } from '../../../platform/errors.ts'
import { isAbsent, isRecord, type Json, listOf, textIn } from '../../../platform/json.ts'
import { baseModelOf, type Target } from '../../core/call.ts'
import { type Block, textBlocks } from '../shared/content-parts.ts'
import { traitsOf } from '../shared/model-traits.ts'
import { anthropicSettings, jsonHint, type Note } from '../shared/settings.ts'
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
  /** Instructions that stand for what that format has no setting for. */
  readonly hints: readonly Block[]
  /** True when the client wants to read what the model thinks. */
  readonly showsThoughts: boolean
}

const at = 'generationConfig'

/** The `generationConfig` of a request. */
export function generationSettings(config: Json, { target, note, isForced }: Options): GenerationSettings {
  checkServable(config)
  const { format, hints } = formatOf(config, note)
  const wish = thinkingWish(objectField(config, 'thinkingConfig'), { target, note })
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
      ...wish,
    },
    {
      target,
      note: (path, action) => note(places[path] ?? path, action),
      paths: { effort: `${at}.thinkingConfig`, format: `${at}.responseSchema` },
    },
  )
  return { settings, hints, showsThoughts: wish.showsThinking }
}

/** Where the client has what the settings of all formats call otherwise. */
const places: Readonly<Record<string, string>> = {
  temperature: `${at}.temperature`,
  top_p: `${at}.topP`,
  top_k: `${at}.topK`,
  stop: `${at}.stopSequences`,
}

/** What must not be dropped in silence, because the answer would be another one than was asked for. */
function checkServable(config: Json): void {
  const count = field(config, 'candidateCount')
  if (!isAbsent(count) && count !== 1)
    throw invalid(`${at}.candidateCount must be 1: this model gives one answer a call`)
  const modalities = field(config, 'responseModalities')
  const others = listOf(modalities).filter(kind => String(kind).toUpperCase() !== 'TEXT')
  if (others.length > 0) throw invalid(`${at}.responseModalities: this model answers with text alone`)
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

/** The form of the answer as OpenAI's formats name it, or what the model is told instead. */
function formatOf(config: Json, note: Note): { readonly format?: Json; readonly hints: readonly Block[] } {
  const type = textIn(field(config, 'responseMimeType'))
  const own = field(config, 'responseSchema')
  const plain = field(config, 'responseJsonSchema') ?? field(config, '_responseJsonSchema')
  const schema = isAbsent(own) ? plain : jsonSchemaOf(own, `${at}.responseSchema`)
  if (type === undefined || type === 'text/plain') return { hints: [] }
  if (type === 'text/x.enum') return { hints: enumHint(schema, note) }
  if (type !== 'application/json') throw invalid(`${at}.responseMimeType ${type.slice(0, 100)} cannot be served`)
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

interface ThinkingWish {
  readonly effort: string | undefined
  readonly budget?: number
  readonly showsThinking: boolean
}

/** Google's newer models are told a level, its older ones a number of tokens: 0 for none, -1 for as many as it takes. */
function thinkingWish(config: Json, { target, note }: Pick<Options, 'target' | 'note'>): ThinkingWish {
  const showsThinking = field(config, 'includeThoughts') === true
  const level = levelOf(field(config, 'thinkingLevel'))
  const budget = field(config, 'thinkingBudget')
  if (level !== undefined || isAbsent(budget)) return { effort: level, showsThinking }
  if (typeof budget !== 'number' || !Number.isInteger(budget))
    throw invalid(`${at}.thinkingConfig.thinkingBudget must be an integer`)
  if (budget === 0) return { effort: 'none', showsThinking: false }
  if (budget < 0) return { effort: 'high', showsThinking }
  if (traitsOf(baseModelOf(target)).thinking === 'adaptive') note(`${at}.thinkingConfig.thinkingBudget`, 'approximated')
  return { effort: budget < 4_096 ? 'low' : budget < 16_384 ? 'medium' : 'high', budget, showsThinking }
}

const levels: ReadonlySet<string> = new Set(['minimal', 'low', 'medium', 'high'])

function levelOf(level: unknown): string | undefined {
  if (isAbsent(level) || level === 'THINKING_LEVEL_UNSPECIFIED') return undefined
  const known = String(level).toLowerCase()
  if (!levels.has(known)) throw invalid(`${at}.thinkingConfig.thinkingLevel must be MINIMAL, LOW, MEDIUM or HIGH`)
  return known
}
