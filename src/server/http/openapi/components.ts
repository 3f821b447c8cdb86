import { isRecord } from '../../platform/json.ts'

type Json = Readonly<Record<string, unknown>>

/** Schemas of a document: named ones are listed once and referred to elsewhere. */
export interface Components {
  /** Returns the schema as the document holds it: a named one as a reference. */
  refer(schema: unknown): unknown
  /** Returns the named schemas that were referred to, in alphabetical order. */
  readonly schemas: Readonly<Record<string, unknown>>
}

/**
 * Collects the named schemas of the contract: those with a `title`. `documented` replaces schemas by what readers see. Throws for two different schemas of one name, which
 * would make one of them wrong in every generated client.
 */
export function createComponents(documented: ReadonlyMap<unknown, unknown> = new Map()): Components {
  const found = new Map<string, Entry>()

  const inside = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(refer)
    if (!isRecord(value)) return value
    // The server reports the type of a wrong member better for a choice of one; for readers it is no choice.
    const { anyOf, ...others } = value
    if (Array.isArray(anyOf) && anyOf.length === 1) return { ...(refer(anyOf[0]) as object), ...others }
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, refer(member)]))
  }

  const refer = (given: unknown): unknown => {
    const value = documented.get(given) ?? given
    if (!isRecord(value) || !isNamed(value)) return inside(value)
    const { title, description, ...rest } = value
    const source = JSON.stringify(rest)
    const entry = found.get(title) ?? { source, description, schema: undefined }
    if (entry.source !== source) throw new Error(`two different schemas are named ${title}`)
    if (!found.has(title)) {
      found.set(title, entry)
      entry.schema = inside(value)
    }
    const $ref = referenceTo(title)
    return description === entry.description ? { $ref } : { $ref, description }
  }

  return {
    refer,
    get schemas() {
      const names = [...found.keys()].toSorted()
      return Object.fromEntries(names.map(name => [name, found.get(name)?.schema]))
    },
  }
}

/** The reference to a named schema of the document. */
export const referenceTo = (title: string): string => `#/components/schemas/${title}`

interface Entry {
  /** All of the schema but its description, which a place that uses it may replace. */
  readonly source: string
  readonly description: unknown
  schema: unknown
}

/** A `title` beside a type is a name; a property that is called `title` holds a schema, not a text. */
const isNamed = (value: Json): value is Json & { readonly title: string } =>
  typeof value['title'] === 'string' && ['type', 'anyOf', 'oneOf', 'allOf'].some(keyword => keyword in value)
