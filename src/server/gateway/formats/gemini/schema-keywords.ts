import { isRecord, type Json, listOf, nonEmptyText, withAllMembers } from '../../../platform/json.ts'

interface Types {
  /** JSON Schema's type names, without null. Empty: any value. */
  readonly names: readonly string[]
  readonly isNullable: boolean
}

const typeNames: ReadonlySet<string> = new Set(['object', 'array', 'string', 'integer', 'number', 'boolean'])

/** Returns the types of a node, inferred from other keywords if it has no `type`. */
export function typesOf(node: Json): Types {
  const { type } = node
  const stated = (Array.isArray(type) ? type : [type]).map(name => (typeof name === 'string' ? name.toLowerCase() : ''))
  const values = valuesOf(node)
  const isNullable = stated.includes('null') || node['nullable'] === true || (values?.includes(null) ?? false)
  const names = [...new Set(stated.filter(name => typeNames.has(name)))]
  // Gemini has no null type: a nullable string replaces it.
  if (names.length === 0 && stated.includes('null')) return { names: ['string'], isNullable: true }
  if (names.length > 0)
    return { names: isRedundantNumber(names) ? names.filter(name => name !== 'integer') : names, isNullable }
  const guessed = typeOfValues(values) ?? typeOfKeywords(node)
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

function typeOfKeywords(node: Json): string | undefined {
  const has = (...keywords: readonly string[]): boolean => keywords.some(keyword => node[keyword] !== undefined)
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

/** Returns the format if Gemini supports it for that type. */
export const formatOf = (node: Json, type: string): Json => (hasFormat(node, type) ? { format: node['format'] } : {})

/** Returns the allowed strings. Gemini rejects empty ones. */
export function enumOf(node: Json): Json {
  const strings = valuesOf(node)?.filter(value => nonEmptyText(value) !== undefined) ?? []
  return strings.length > 0 ? { enum: [...new Set(strings)] } : {}
}

const counted: Readonly<Record<string, readonly string[]>> = {
  object: ['minProperties', 'maxProperties'],
  array: ['minItems', 'maxItems'],
  string: ['minLength', 'maxLength'],
}

/** Returns the minimum and the maximum of a size or a number. */
export function boundsOf(node: Json, type: string): Json {
  const keywords = counted[type]
  if (!keywords) return rangeOf(node, type)
  return Object.fromEntries(
    keywords.filter(keyword => Number.isSafeInteger(node[keyword])).map(keyword => [keyword, node[keyword]]),
  )
}

/** Returns inclusive bounds. Gemini has no exclusive ones; those of integers are shifted by 1. */
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

/** Returns hints for the description: constraints that Gemini's schema cannot express. */
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

/** References being expanded, outermost first. */
export type References = readonly string[]

interface Expanded {
  readonly node: Json
  readonly seen: References
  /** True when a reference could not be resolved. */
  readonly isLossy: boolean
}

/** Maximum nesting of references and `allOf`. */
const maxSteps = 200

/** What the schemas of a request may still take: the sizes of all expanded nodes together. */
export interface Allowance {
  left: number
}

/** The schema that references name, and what its conversion may take. */
export interface Whole {
  readonly root: unknown
  readonly allowance: Allowance
}

/** Returns the size of a node without its inner schemas: characters of texts, and entries of lists and objects. */
function sizeOf(node: Json): number {
  let size = 1
  for (const value of Object.values(node)) {
    size++
    if (typeof value === 'string') size += value.length
    else if (Array.isArray(value)) for (const item of value) size += 1 + (typeof item === 'string' ? item.length : 0)
    else if (isRecord(value)) size += Object.keys(value).length
  }
  return size
}

/** Takes the size of a node and of its references; false once nothing is left. */
function spend({ node, seen }: Pick<Expanded, 'node' | 'seen'>, { allowance }: Whole): boolean {
  allowance.left -= sizeOf(node) + seen.length
  return allowance.left >= 0
}

/**
 * Returns a node with `$ref` and `allOf` expanded, but not alternatives. Undefined for a reference to itself, and for a node that
 * takes too much work.
 */
export function expanded(node: Json, seen: References, whole: Whole): Expanded | undefined {
  const followed = withReferences(node, seen, whole)
  if (!followed || !spend(followed, whole)) return undefined
  const { allOf, ...own } = followed.node
  if (!Array.isArray(allOf)) return followed
  const nodes = [own]
  let all: Expanded = { ...followed, seen: [...followed.seen, 'allOf'] }
  for (const part of allOf.filter(isRecord)) {
    const open = all.seen.length > maxSteps ? undefined : expanded(part, all.seen, whole)
    if (!open) return undefined
    nodes.push(open.node)
    all = { ...open, isLossy: all.isLossy || open.isLossy }
  }
  return { ...all, node: mergedSchemas(nodes) }
}

/** Returns the alternatives of a node. */
export function unionOf({ anyOf, oneOf }: Json): readonly Json[] {
  const branches = Array.isArray(anyOf) ? anyOf : Array.isArray(oneOf) ? oneOf : []
  return branches.filter(isRecord)
}

function withReferences(node: Json, seen: References, whole: Whole): Expanded | undefined {
  let open: Expanded = { node, seen, isLossy: false }
  while (typeof open.node['$ref'] === 'string') {
    const { $ref: reference, ...own } = open.node
    if (open.seen.length > maxSteps || open.seen.includes(reference) || !spend(open, whole)) return undefined
    const target = resolved(reference, whole.root)
    if (!target) return { ...open, node: own, isLossy: true }
    open = { node: { ...target, ...own }, seen: [...open.seen, reference], isLossy: open.isLossy }
  }
  return open
}

/** Resolves a reference such as `#/$defs/Name` in `root`. */
function resolved(reference: string, root: unknown): Json | undefined {
  if (!reference.startsWith('#')) return undefined
  let found: unknown = root
  for (const step of reference.slice(1).split('/').slice(1)) {
    const name = decoded(step).replaceAll('~1', '/').replaceAll('~0', '~')
    found =
      typeof found === 'object' && found !== null && Object.hasOwn(found, name) ? Reflect.get(found, name) : undefined
  }
  return isRecord(found) ? found : undefined
}

function decoded(step: string): string {
  try {
    return decodeURIComponent(step)
  } catch {
    // Not percent-encoded: use the text unchanged.
    return step
  }
}

/** Merges schemas, as far as one node can express them. Of several values of a keyword the first one counts. */
function mergedSchemas(nodes: readonly Json[]): Json {
  const last = nodes.toReversed()
  const properties = withAllMembers(last.map(node => node['properties']))
  const required = nodes.flatMap(node => listOf(node['required']))
  return {
    ...withAllMembers(last),
    ...(Object.keys(properties).length > 0 && { properties }),
    ...(required.length > 0 && { required }),
  }
}
