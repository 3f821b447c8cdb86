import { isRecord, type Json, nonEmptyText } from '../../../platform/json.ts'
import { boundsOf, enumOf, expanded, formatOf, hintsOf, type References, typesOf, unionOf } from './schema-words.ts'

/** A schema that Gemini takes. `isSimplified` when it allows more than the original did and the text does not say so. */
export interface CleanSchema {
  readonly schema: Json
  readonly isSimplified: boolean
}

/** Beyond these a schema that refers to itself would grow without end. */
const maxDepth = 24
const maxNodes = 4_000

/** What JSON Schema can say and neither Gemini's schema nor a hint in the description can. */
const unsayable = [
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

/** A JSON schema in the subset of OpenAPI 3.0 that Gemini's `Schema` is. */
export function cleanSchema(input: unknown): CleanSchema {
  const cleaner = new Cleaner(input)
  return { schema: cleaner.clean(input), isSimplified: cleaner.isSimplified }
}

interface CleanParameters {
  /** Undefined for a function without any. */
  readonly schema?: Json
  readonly isSimplified: boolean
}

/** About what a few hundred sets of tools take. */
const maxCachedCharacters = 4 * 1024 * 1024

/** The parameters of a function: always an object. Agents send the same tools with each request of a session. */
export const cleanParameters = cachedByText<CleanParameters>(maxCachedCharacters, input => {
  const cleaner = new Cleaner(input)
  const schema = cleaner.cleanRoot(input)
  const isEmpty = !isRecord(schema['properties'])
  return { isSimplified: cleaner.isSimplified, ...(!isEmpty && { schema }) }
})

/** Caches the results of `convert` by the JSON text of its input. Those unused for the longest time are evicted. */
function cachedByText<T>(maxCharacters: number, convert: (input: unknown) => T): (input: unknown) => T {
  // A Map keeps the order of insertion.
  const results = new Map<string, T>()
  let characters = 0
  return input => {
    const text = jsonText(input)
    const known = text === undefined ? undefined : results.get(text)
    const result = known ?? convert(input)
    if (text === undefined || text.length > maxCharacters) return result
    if (known === undefined) characters += text.length
    else results.delete(text)
    results.set(text, result)
    for (const oldest of results.keys()) {
      if (characters <= maxCharacters) break
      results.delete(oldest)
      characters -= oldest.length
    }
    return result
  }
}

/** Undefined for what has no JSON text, or nests too deep to be written. */
function jsonText(input: unknown): string | undefined {
  try {
    return JSON.stringify(input)
  } catch {
    // The reader of JSON goes deeper than its writer, and a schema is cut at a depth of its own.
    return undefined
  }
}

class Cleaner {
  readonly #root: unknown
  #nodes = 0
  isSimplified = false

  constructor(root: unknown) {
    this.#root = root
  }

  clean(node: unknown, seen: References = [], depth = 0): Json {
    this.#nodes++
    if (this.#nodes > maxNodes || depth > maxDepth) return this.#cut(node)
    if (!isRecord(node)) return anything(undefined)
    const open = expanded(node, seen, this.#root)
    if (!open) return this.#cut(node)
    if (open.isLossy) this.isSimplified = true
    return this.#cleanOpen(open.node, open.seen, depth)
  }

  /** An object, whatever the original is: of alternatives all properties are taken. */
  cleanRoot(node: unknown): Json {
    const open = isRecord(node) ? expanded(node, [], this.#root) : undefined
    if (!open) return { type: 'OBJECT' }
    if (open.isLossy) this.isSimplified = true
    const branches = unionOf(open.node).flatMap(branch => expanded(branch, open.seen, this.#root) ?? [])
    if (branches.length === 0) return this.#object(open.node, open.seen, 0)
    this.isSimplified = true
    const all = [open.node, ...branches.map(branch => branch.node)]
    const properties = Object.assign({}, ...all.map(each => each['properties']).filter(isRecord))
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
    this.#noteUnsayable(node)
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
    this.#noteUnsayable(node)
    const { items, prefixItems } = node
    const tuple = Array.isArray(items) ? items : Array.isArray(prefixItems) ? prefixItems : []
    const one = isRecord(items) ? items : tuple.length > 0 ? { anyOf: tuple } : undefined
    const head = { type: 'ARRAY', ...described(node, 'array') }
    return { ...head, items: this.clean(one, seen, depth + 1), ...boundsOf(node, 'array') }
  }

  /** Beside `anyOf` Gemini takes nothing: what all branches share goes into them. */
  #union(node: Json, branches: readonly unknown[], { seen, depth }: Place): Json {
    const { anyOf: _any, oneOf: _one, description, nullable, default: value, ...shared } = node
    let isNullable = nullable === true || typesOf(node).isNullable
    const clean: Json[] = []
    for (const branch of branches) {
      if (isNullSchema(branch)) isNullable = true
      else clean.push(...flat(this.clean(isRecord(branch) ? { ...shared, ...branch } : shared, seen, depth + 1)))
    }
    // A value that must be null can only be shown as a nullable string.
    const [first = { type: 'STRING' }, ...rest] = distinct(clean)
    const own = described({ description, default: value }, 'any').description
    const told = [own, nonEmptyText(first['description'])].filter(text => text !== undefined).join('\n')
    const all = [told === '' ? first : { ...first, description: told }, ...rest]
    const marked = isNullable ? all.map(each => ('type' in each ? { ...each, nullable: true } : each)) : all
    return marked.length === 1 && marked[0] ? marked[0] : { anyOf: marked }
  }

  /** Where a schema goes on for ever, or for too long. */
  #cut(node: unknown): Json {
    this.isSimplified = true
    const description = isRecord(node) ? nonEmptyText(node['description']) : undefined
    return { type: 'OBJECT', ...(description !== undefined && { description }) }
  }

  #noteUnsayable(node: Json): void {
    if (unsayable.some(word => node[word] !== undefined)) this.isSimplified = true
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

/** Any JSON value: every node must have a type. */
function anything(description: string | undefined): Json {
  const first = { type: 'STRING', ...(description !== undefined && { description }) }
  const list = { type: 'ARRAY', items: { type: 'STRING' } }
  return { anyOf: [first, { type: 'NUMBER' }, { type: 'BOOLEAN' }, { type: 'OBJECT' }, list] }
}
