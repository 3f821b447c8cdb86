import { isRecord, type Json, nonEmptyText } from '../../../platform/json.ts'

interface Types {
  /** In JSON Schema's words, without null. None: any value. */
  readonly names: readonly string[]
  readonly isNullable: boolean
}

const known = new Set(['object', 'array', 'string', 'integer', 'number', 'boolean'])

/** The types of a node, guessed from its other words where it names none. */
export function typesOf(node: Json): Types {
  const { type } = node
  const said = (Array.isArray(type) ? type : [type]).map(name => (typeof name === 'string' ? name.toLowerCase() : ''))
  const values = valuesOf(node)
  const isNullable = said.includes('null') || node['nullable'] === true || (values?.includes(null) ?? false)
  const names = [...new Set(said.filter(name => known.has(name)))]
  // A model that must send null can only be shown a nullable string.
  if (names.length === 0 && said.includes('null')) return { names: ['string'], isNullable: true }
  if (names.length > 0)
    return { names: isRedundantNumber(names) ? names.filter(name => name !== 'integer') : names, isNullable }
  const guessed = typeOfValues(values) ?? typeOfWords(node)
  return { names: guessed === undefined ? [] : [guessed], isNullable }
}

const isRedundantNumber = (names: readonly string[]): boolean => names.includes('number') && names.includes('integer')

function valuesOf(node: Json): readonly unknown[] | undefined {
  if (Array.isArray(node['enum'])) return node['enum']
  return node['const'] === undefined ? undefined : [node['const']]
}

function typeOfValues(values: readonly unknown[] | undefined): string | undefined {
  const kinds = new Set(values?.filter(value => value !== null).map(value => typeof value))
  const [kind] = kinds
  if (kinds.size !== 1) return undefined
  if (kind === 'number') return values?.every(value => value === null || Number.isInteger(value)) ? 'integer' : 'number'
  return kind === 'string' || kind === 'boolean' ? kind : undefined
}

function typeOfWords(node: Json): string | undefined {
  const has = (...words: readonly string[]): boolean => words.some(word => node[word] !== undefined)
  if (has('properties', 'required', 'additionalProperties', 'patternProperties')) return 'object'
  if (has('items', 'prefixItems', 'minItems', 'maxItems', 'uniqueItems')) return 'array'
  if (has('pattern', 'minLength', 'maxLength', 'format')) return 'string'
  return has('minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf') ? 'number' : undefined
}

const formats: Readonly<Record<string, readonly string[]>> = {
  string: ['date-time'],
  integer: ['int32', 'int64'],
  number: ['float', 'double'],
}

const hasFormat = (node: Json, type: string): boolean =>
  formats[type]?.includes(nonEmptyText(node['format']) ?? '') ?? false

/** The format, where Gemini knows it for that type. */
export const formatOf = (node: Json, type: string): Json => (hasFormat(node, type) ? { format: node['format'] } : {})

/** The allowed strings. Gemini takes no empty one. */
export function enumOf(node: Json): Json {
  const strings = valuesOf(node)?.filter(value => nonEmptyText(value) !== undefined) ?? []
  return strings.length > 0 ? { enum: [...new Set(strings)] } : {}
}

const counted: Readonly<Record<string, readonly string[]>> = {
  object: ['minProperties', 'maxProperties'],
  array: ['minItems', 'maxItems'],
  string: ['minLength', 'maxLength'],
}

/** The least and the most of a value's size, or of a number. */
export function boundsOf(node: Json, type: string): Json {
  const words = counted[type]
  if (!words) return rangeOf(node, type)
  return Object.fromEntries(words.filter(word => Number.isSafeInteger(node[word])).map(word => [word, node[word]]))
}

/** Gemini has no exclusive bounds; those of integers have an equal. */
function rangeOf(node: Json, type: string): Json {
  const step = type === 'integer' ? 1 : 0
  const lower = [numberOf(node['minimum']), moved(node['exclusiveMinimum'], step)].filter(bound => bound !== undefined)
  const upper = [numberOf(node['maximum']), moved(node['exclusiveMaximum'], -step)].filter(bound => bound !== undefined)
  return {
    ...(lower.length > 0 && { minimum: Math.max(...lower) }),
    ...(upper.length > 0 && { maximum: Math.min(...upper) }),
  }
}

const numberOf = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isFinite(value) ? value : undefined

function moved(bound: unknown, by: number): number | undefined {
  const number = numberOf(bound)
  if (number === undefined || by === 0) return number
  return by > 0 ? Math.floor(number) + by : Math.ceil(number) + by
}

/** What the model should know and Gemini's schema cannot say, for the description. */
export function hintsOf(node: Json, type: string): readonly string[] {
  const { format, pattern, multipleOf, uniqueItems, exclusiveMinimum, exclusiveMaximum } = node
  const hints = [
    nonEmptyText(format) !== undefined && !hasFormat(node, type) && `format: ${String(format)}`,
    nonEmptyText(pattern) !== undefined && `pattern: ${String(pattern)}`,
    typeof multipleOf === 'number' && `a multiple of ${multipleOf}`,
    uniqueItems === true && 'no duplicates',
    type === 'number' && typeof exclusiveMinimum === 'number' && `above ${exclusiveMinimum}`,
    type === 'number' && typeof exclusiveMaximum === 'number' && `below ${exclusiveMaximum}`,
    choiceHint(node, type),
    defaultHint(node),
  ]
  return hints.filter(hint => typeof hint === 'string')
}

const maxHintLength = 1_000

function choiceHint(node: Json, type: string): string | undefined {
  const values = type === 'string' ? undefined : valuesOf(node)?.filter(value => value !== null)
  if (!values || values.length === 0) return undefined
  const list = values.map(value => JSON.stringify(value)).join(', ')
  return list.length > maxHintLength ? undefined : `one of: ${list}`
}

function defaultHint({ default: value }: Json): string | undefined {
  if (value === undefined || value === null || isRecord(value) || Array.isArray(value)) return undefined
  const text = JSON.stringify(value)
  return text.length > maxHintLength ? undefined : `default: ${text}`
}
