import { isRecord, type Json, nonEmptyText, withAllMembers } from '../../../platform/json.ts'
import {
  type Allowance,
  boundsOf,
  enumOf,
  expanded,
  formatOf,
  hintsOf,
  type References,
  typesOf,
  unionOf,
  type Whole,
} from './schema-keywords.ts'

/** Schema for Gemini. `isSimplified` is true if it allows more than the original, without a hint in a description. */
export interface CleanSchema {
  readonly schema: Json
  readonly isSimplified: boolean
}

/** Limits for schemas that refer to themselves. */
const maxDepth = 24
const maxNodes = 4_000
/**
 * Allowance of a request beside the size of its schemas. References repeat what they name: without a limit, a small schema would
 * take minutes and all memory.
 */
const extraSize = 300_000

/** Returns the allowance of the schemas of one request. */
export const newAllowance = (): Allowance => ({ left: extraSize })

/** Keywords of JSON Schema that neither Gemini's schema nor a hint in the description can express. */
const unsupportedKeywords = [
  'additionalItems',
  'contains',
  'dependencies',
  'dependentRequired',
  'dependentSchemas',
  'else',
  'if',
  'not',
  'patternProperties',
  'prefixItems',
  'propertyNames',
  'then',
  'unevaluatedItems',
  'unevaluatedProperties',
] as const

/** Converts a JSON schema to Gemini's `Schema`, a subset of OpenAPI 3.0. */
export function cleanSchema(input: unknown): CleanSchema {
  const cleaner = new Cleaner(input, { left: extraSize + (jsonText(input)?.length ?? 0) })
  return { schema: cleaner.clean(input), isSimplified: cleaner.isSimplified }
}

/** Parameters of a function for Gemini. */
export interface CleanParameters {
  /** Undefined for a function without parameters. */
  readonly schema?: Json
  readonly isSimplified: boolean
}

/** Enough for a few hundred sets of tools. */
const maxCachedCharacters = 4 * 1024 * 1024
/** By the JSON text of the input. A Map iterates in order of insertion: the first entry is the least recently used. */
const cached = new Map<string, CleanParameters>()
let cachedCharacters = 0

/** Converts the parameters of a function to an object schema. Cached: agents send the same tools in each request. */
export function cleanParameters(input: unknown, allowance: Allowance = newAllowance()): CleanParameters {
  const text = jsonText(input)
  const before = text === undefined ? undefined : cached.get(text)
  if (text !== undefined && before) {
    cached.delete(text)
    cached.set(text, before)
    return before
  }
  allowance.left += text?.length ?? 0
  const result = convertedParameters(input, allowance)
  // What other schemas have used up says nothing about this one.
  if (text !== undefined && text.length <= maxCachedCharacters && allowance.left >= 0) store(text, result)
  return result
}

function convertedParameters(input: unknown, allowance: Allowance): CleanParameters {
  const cleaner = new Cleaner(input, allowance)
  const schema = cleaner.cleanRoot(input)
  const isEmpty = !isRecord(schema['properties'])
  return { isSimplified: cleaner.isSimplified, ...(!isEmpty && { schema }) }
}

/** Evicts the least recently used results. */
function store(text: string, result: CleanParameters): void {
  cached.set(text, result)
  cachedCharacters += text.length
  for (const oldest of cached.keys()) {
    if (cachedCharacters <= maxCachedCharacters) break
    cached.delete(oldest)
    cachedCharacters -= oldest.length
  }
}

/** Returns the JSON text; undefined for a value without one, or nested too deeply for JSON.stringify. */
function jsonText(input: unknown): string | undefined {
  try {
    return JSON.stringify(input)
  } catch {
    // JSON.parse accepts deeper nesting than JSON.stringify. The cleaner has its own depth limit.
    return undefined
  }
}

class Cleaner {
  readonly #whole: Whole
  #nodes = 0
  isSimplified = false

  constructor(root: unknown, allowance: Allowance) {
    this.#whole = { root, allowance }
  }

  get #isFull(): boolean {
    return this.#nodes > maxNodes || this.#whole.allowance.left < 0
  }

  clean(node: unknown, seen: References = [], depth = 0): Json {
    this.#nodes++
    if (this.#isFull || depth > maxDepth) return this.#cut(node)
    if (!isRecord(node)) return anything(undefined)
    const open = expanded(node, seen, this.#whole)
    if (!open) return this.#cut(node)
    if (open.isLossy) this.isSimplified = true
    return this.#cleanOpen(open.node, open.seen, depth)
  }

  /** Returns an object schema for any input. The properties of alternatives are merged. */
  cleanRoot(node: unknown): Json {
    const open = isRecord(node) ? expanded(node, [], this.#whole) : undefined
    if (!open) return isRecord(node) ? this.#cut(undefined) : { type: 'OBJECT' }
    if (open.isLossy) this.isSimplified = true
    const branches = unionOf(open.node).flatMap(branch => expanded(branch, open.seen, this.#whole) ?? [])
    if (branches.length === 0) return this.#object(open.node, open.seen, 0)
    this.isSimplified = true
    const all = [open.node, ...branches.map(branch => branch.node)]
    const properties = withAllMembers(all.map(each => each['properties']))
    const seen = [...open.seen, ...branches.flatMap(branch => branch.seen)]
    return this.#object({ ...open.node, properties }, seen, 0)
  }

  #cleanOpen(node: Json, seen: References, depth: number): Json {
    const types = typesOf(node)
    const branches = unionOf(node)
    const hasOwnShape = isRecord(node['properties']) && Object.keys(node['properties']).length > 0
    if (branches.length > 0 && hasOwnShape) this.isSimplified = true
    else if (branches.length > 0) return this.#union(node, branches, { seen, depth })
    if (types.names.length > 1) {
      const each = types.names.map(type => ({ ...node, type, description: undefined }))
      return this.#union({ ...node, nullable: types.isNullable }, each, { seen, depth })
    }
    const [type] = types.names
    const clean = this.#typed(type, node, { seen, depth })
    return types.isNullable && 'type' in clean ? { ...clean, nullable: true } : clean
  }

  #typed(type: string | undefined, node: Json, { seen, depth }: Place): Json {
    switch (type) {
      case 'object':
        return this.#object(node, seen, depth)
      case 'array':
        return this.#array(node, seen, depth)
      case 'string':
        return {
          type: 'STRING',
          ...described(node, type),
          ...formatOf(node, type),
          ...enumOf(node),
          ...boundsOf(node, type),
        }
      case 'integer':
      case 'number':
        return { type: type.toUpperCase(), ...described(node, type), ...formatOf(node, type), ...boundsOf(node, type) }
      case 'boolean':
        return { type: 'BOOLEAN', ...described(node, type) }
      default:
        return anything(described(node, 'any').description)
    }
  }

  #object(node: Json, seen: References, depth: number): Json {
    this.#noteUnsupported(node)
    if (isRecord(node['additionalProperties'])) this.isSimplified = true
    const given = isRecord(node['properties']) ? Object.entries(node['properties']) : []
    const head = { type: 'OBJECT', ...described(node, 'object') }
    if (given.length === 0) return head
    const properties = Object.fromEntries(given.map(([name, value]) => [name, this.clean(value, seen, depth + 1)]))
    const listed = Array.isArray(node['required']) ? node['required'] : []
    const required = [...new Set(listed)].filter(name => typeof name === 'string' && Object.hasOwn(properties, name))
    return { ...head, properties, ...(required.length > 0 && { required }), ...boundsOf(node, 'object') }
  }

  #array(node: Json, seen: References, depth: number): Json {
    this.#noteUnsupported(node)
    const { items, prefixItems } = node
    const tuple = Array.isArray(items) ? items : Array.isArray(prefixItems) ? prefixItems : []
    const one = isRecord(items) ? items : tuple.length > 0 ? { anyOf: tuple } : undefined
    const head = { type: 'ARRAY', ...described(node, 'array') }
    return { ...head, items: this.clean(one, seen, depth + 1), ...boundsOf(node, 'array') }
  }

  /** Converts alternatives. Gemini accepts no keywords next to `anyOf`, so shared ones are copied into each branch. */
  #union(node: Json, branches: readonly unknown[], { seen, depth }: Place): Json {
    const { anyOf: _any, oneOf: _one, description, nullable, default: value, ...shared } = node
    let isNullable = nullable === true || typesOf(node).isNullable
    const clean: Json[] = []
    for (const branch of branches) {
      if (isNullSchema(branch)) isNullable = true
      else if (this.#isFull) clean.push(this.#cut(undefined))
      else clean.push(...flat(this.clean(isRecord(branch) ? { ...shared, ...branch } : shared, seen, depth + 1)))
    }
    // Gemini has no null type: a nullable string replaces it.
    const [first = { type: 'STRING' }, ...rest] = distinct(clean)
    const own = described({ description, default: value }, 'any').description
    const joined = [own, nonEmptyText(first['description'])].filter(text => text !== undefined).join('\n')
    const all = [joined === '' ? first : { ...first, description: joined }, ...rest]
    const marked = isNullable ? all.map(each => ('type' in each ? { ...each, nullable: true } : each)) : all
    return marked.length === 1 && marked[0] ? marked[0] : { anyOf: marked }
  }

  /** Returns an open object in place of a schema that is recursive or too large. */
  #cut(node: unknown): Json {
    this.isSimplified = true
    const description = isRecord(node) ? nonEmptyText(node['description']) : undefined
    return { type: 'OBJECT', ...(description !== undefined && { description }) }
  }

  #noteUnsupported(node: Json): void {
    if (unsupportedKeywords.some(keyword => node[keyword] !== undefined)) this.isSimplified = true
  }
}

interface Place {
  readonly seen: References
  readonly depth: number
}

function described(node: Json, type: string): { readonly description?: string } {
  const hints = hintsOf(node, type)
  const text = [nonEmptyText(node['description']), hints.length > 0 ? `(${hints.join('; ')})` : undefined]
  const description = text.filter(part => part !== undefined).join(' ')
  return description === '' ? {} : { description }
}

const isNullSchema = (branch: unknown): boolean =>
  isRecord(branch) && (branch['type'] === 'null' || branch['const'] === null)

const flat = (schema: Json): readonly Json[] =>
  Array.isArray(schema['anyOf']) ? schema['anyOf'].filter(isRecord) : [schema]

const distinct = (schemas: readonly Json[]): readonly Json[] => [
  ...new Map(schemas.map(schema => [JSON.stringify(schema), schema])).values(),
]

/** Returns a schema of any JSON value. Every node must have a type. */
function anything(description: string | undefined): Json {
  const first = { type: 'STRING', ...(description !== undefined && { description }) }
  const list = { type: 'ARRAY', items: { type: 'STRING' } }
  return { anyOf: [first, { type: 'NUMBER' }, { type: 'BOOLEAN' }, { type: 'OBJECT' }, list] }
}
