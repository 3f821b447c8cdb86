/** How a value is entered. Everything without a simple control is entered as JSON. */
type Control = 'text' | 'number' | 'boolean' | 'choice' | 'json'

/** One property of an object schema. */
export interface SchemaField {
  readonly name: string
  readonly title: string | undefined
  readonly description: string | undefined
  readonly control: Control
  readonly isInteger: boolean
  readonly isRequired: boolean
  readonly minimum: number | undefined
  readonly maximum: number | undefined
  /** Values of a `choice`. Its input is the index of one. */
  readonly choices: readonly unknown[]
  /** Value that applies when none is given, as text; undefined without one. */
  readonly fallback: string | undefined
}

/** What the person entered, by the name of the field. Empty means absent. */
export type SchemaInputs = ReadonlyMap<string, string>

interface Entered {
  readonly values: Readonly<Record<string, unknown>>
  /** What is wrong, by the name of the field. */
  readonly problems: ReadonlyMap<string, string>
}

type Json = Readonly<Record<string, unknown>>

const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value)
const textOf = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined)
const numberOf = (value: unknown): number | undefined => (typeof value === 'number' ? value : undefined)

/** Returns the properties of an object schema in its order; patterns and references of the schema are not evaluated. */
export function fieldsOf(schema: unknown): readonly SchemaField[] {
  if (!isObject(schema) || !isObject(schema['properties'])) return []
  const required = Array.isArray(schema['required']) ? schema['required'] : []
  return Object.entries(schema['properties']).map(([name, property]) => ({
    name,
    ...describedBy(isObject(property) ? property : {}),
    isRequired: required.includes(name),
  }))
}

function describedBy(property: Json): Omit<SchemaField, 'name' | 'isRequired'> {
  const { type, default: fallback } = property
  const choices = choicesOf(property)
  return {
    title: textOf(property['title']),
    description: textOf(property['description']),
    control: choices.length > 0 ? 'choice' : controlOf(nonNullTypes(type)),
    isInteger: nonNullTypes(type).join() === 'integer',
    minimum: numberOf(property['minimum']),
    maximum: numberOf(property['maximum']),
    choices,
    fallback: fallback === undefined ? undefined : shownValue(fallback),
  }
}

function choicesOf({ enum: values, const: only }: Json): readonly unknown[] {
  if (Array.isArray(values) && values.length > 0) return values
  return only === undefined ? [] : [only]
}

const nonNullTypes = (type: unknown): readonly unknown[] =>
  (Array.isArray(type) ? type : [type]).filter(each => each !== 'null')

function controlOf(types: readonly unknown[]): Control {
  const [type, ...others] = types
  if (others.length > 0) return 'json'
  if (type === 'string') return 'text'
  if (type === 'number' || type === 'integer') return 'number'
  return type === 'boolean' ? 'boolean' : 'json'
}

/** Shows a value of a choice or a default: texts as they are, everything else as JSON. */
export const shownValue = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))

/** Reads the inputs of a form. Fields without input are left out. */
export function enteredValues(fields: readonly SchemaField[], inputs: SchemaInputs): Entered {
  const values: [string, unknown][] = []
  const problems = new Map<string, string>()
  for (const field of fields) {
    const input = inputs.get(field.name) ?? ''
    if (input === '') {
      if (field.isRequired) problems.set(field.name, 'A value is required')
      continue
    }
    const read = readValue(field, input)
    if ('problem' in read) problems.set(field.name, read.problem)
    else values.push([field.name, read.value])
  }
  return { values: Object.fromEntries(values), problems }
}

type Read = { readonly value: unknown } | { readonly problem: string }

function readValue(field: SchemaField, input: string): Read {
  switch (field.control) {
    case 'text':
      return { value: input }
    case 'boolean':
      return { value: input === 'true' }
    case 'choice':
      return { value: field.choices[Number(input)] }
    case 'number':
      return readNumber(field, input)
    case 'json':
      return readJson(input)
  }
}

function readNumber({ isInteger, minimum, maximum }: SchemaField, input: string): Read {
  const value = Number(input)
  if (!Number.isFinite(value)) return { problem: 'Not a number' }
  if (isInteger && !Number.isInteger(value)) return { problem: 'Not a whole number' }
  if (minimum !== undefined && value < minimum) return { problem: `Must be ${minimum} or more` }
  if (maximum !== undefined && value > maximum) return { problem: `Must be ${maximum} or less` }
  return { value }
}

/** Parses JSON that a person has entered. */
export function readJson(input: string): Read {
  try {
    return { value: JSON.parse(input) as unknown }
  } catch (error) {
    return { problem: error instanceof Error ? `Not valid JSON: ${error.message}` : 'Not valid JSON' }
  }
}

/** Reads the arguments of a call from JSON text; they must be an object. */
export function readArguments(input: string): { readonly value: Json } | { readonly problem: string } {
  const read = readJson(input.trim() === '' ? '{}' : input)
  if ('problem' in read) return read
  return isObject(read.value) ? { value: read.value } : { problem: 'Must be a JSON object' }
}
