import { readFileSync } from 'node:fs'
import { InvalidArgumentError, Option } from 'commander'
import type { TSchema } from 'typebox'
import { type Finder, NameOption } from '../names.ts'
import { wholeNumber } from '../parse.ts'

/** The used keywords of a schema of the contract. */
export interface FieldSchema {
  readonly type?: string
  readonly const?: unknown
  readonly anyOf?: readonly FieldSchema[]
  readonly items?: FieldSchema
  readonly minimum?: number
  readonly maximum?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly pattern?: string
  readonly description?: string
  readonly default?: unknown
}

/** How a field of a request becomes an option. */
export interface FieldOption {
  /** Name of the field in the query or body. */
  readonly field: string
  /** Long flag without dashes; default: the field in kebab-case. */
  readonly flag?: string
  /** Description; default: that of the field in the contract. */
  readonly text?: string
  /** Finds the id that the value names. */
  readonly finder?: Finder
  /** Name of the value in the help; default: by the type. */
  readonly value?: string
}

/** Returns the flag of a field without dashes. */
export const flagOf = ({ field, flag = field.replaceAll('_', '-') }: FieldOption): string => flag

/** Returns the key of a field's option in the parsed options. */
export const attributeOf = (spec: FieldOption): string =>
  flagOf(spec).replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase())

/** Returns the schema of a field without null. */
export function schemaOfField(object: TSchema | undefined, field: string): FieldSchema | undefined {
  const { properties } = (object ?? {}) as { readonly properties?: Readonly<Record<string, FieldSchema>> }
  const schema = properties?.[field]
  if (schema?.anyOf === undefined) return schema
  const kept = schema.anyOf.filter(({ type }) => type !== 'null')
  const [only] = kept
  const description = schema.description ?? only?.description
  return {
    ...(kept.length === 1 ? only : { ...schema, anyOf: kept }),
    ...(description !== undefined && { description }),
  }
}

/** Returns the options of a field: one, or for true and false `--x` and `--no-x`. */
export function optionsOfField(spec: FieldOption, schema: FieldSchema, isQuery: boolean): Option[] {
  const flag = flagOf(spec)
  const text = helpText(spec.text ?? schema.description ?? '', schema)
  if (spec.finder)
    return [new NameOption(`--${flag} <${spec.value ?? spec.finder.kind.replaceAll(' ', '-')}>`, text, spec.finder)]
  if (schema.type === 'boolean') {
    const yes = new Option(`--${flag}`, text)
    return isQuery ? [yes] : [yes, new Option(`--no-${flag}`, `opposite of --${flag}`)]
  }
  const choices = choicesOf(schema)
  const list = schema.type === 'array'
  const option = new Option(`--${flag} <${spec.value ?? valueName(schema)}${list ? '...' : ''}>`, text)
  if (choices) return [option.choices(choices)]
  // A field of any type with a name for its value is text.
  if (list || (schema.type === undefined && spec.value !== undefined)) return [option]
  return [option.argParser(parserOf(schema))]
}

/** Returns the values of an enumeration, or of a list of them. */
function choicesOf(schema: FieldSchema): string[] | undefined {
  const all = (schema.type === 'array' ? schema.items : schema)?.anyOf
  return all?.every(({ const: value }) => typeof value === 'string')
    ? all.map(({ const: value }) => String(value))
    : undefined
}

function valueName(schema: FieldSchema): string {
  if (choicesOf(schema)) return 'choice'
  if (schema.type === 'integer') return 'n'
  if (schema.type === 'number') return 'amount'
  return schema.type === 'string' || schema.type === 'array' ? 'text' : 'json'
}

/** Returns the description of a field as help: without Markdown, with its limits. */
function helpText(description: string, schema: FieldSchema): string {
  const plain = description.replaceAll('`', '').replace(/[.]$/, '')
  const start = /^[A-Z][a-z]/.test(plain) ? plain.charAt(0).toLowerCase() + plain.slice(1) : plain
  const { minimum, maximum } = schema
  const range = schema.type === 'integer' && minimum !== undefined && maximum !== undefined && maximum < 1_000_000
  const limits = range ? `${minimum} to ${maximum}` : fileNote(schema)
  const standard = schema.default === undefined ? undefined : `default: ${String(schema.default)}`
  const notes = [limits, standard].filter(note => note !== undefined).join('; ')
  return notes === '' ? start : `${start} (${notes})`.trim()
}

/** Returns how to read a long text or JSON from a file. */
const fileNote = (schema: FieldSchema): string | undefined =>
  schema.type === 'string' && (schema.maxLength ?? 0) >= longText ? '@ and a path reads a file' : undefined

function parserOf(schema: FieldSchema): (text: string) => unknown {
  switch (schema.type) {
    case 'integer':
      return wholeNumber({ min: schema.minimum ?? 0, max: schema.maximum ?? Number.MAX_SAFE_INTEGER })
    case 'number':
      return amount(schema)
    case 'string':
      return checkedText(schema)
    default:
      return jsonOrFile
  }
}

/** Texts that may be this long can come from a file. */
const longText = 10_000

const amount =
  ({ minimum = 0, maximum = Number.MAX_SAFE_INTEGER }: FieldSchema) =>
  (text: string): number => {
    const value = /^\d{1,13}(\.\d{1,9})?$/.test(text) ? Number(text) : Number.NaN
    if (value >= minimum && value <= maximum) return value
    throw new InvalidArgumentError(`It must be a number from ${minimum} to ${maximum}.`)
  }

const checkedText =
  ({ minLength = 0, maxLength = Number.POSITIVE_INFINITY, pattern, description }: FieldSchema) =>
  (given: string): string => {
    const text = maxLength >= longText && given.startsWith('@') ? textOfFile(given.slice(1)) : given
    if (text.length < minLength) throw new InvalidArgumentError('It must not be empty.')
    if (text.length > maxLength) throw new InvalidArgumentError(`It must have at most ${maxLength} characters.`)
    if (pattern === undefined || new RegExp(pattern, 'u').test(text)) return text
    if (pattern === '\\S') throw new InvalidArgumentError('It must not be blank.')
    throw new InvalidArgumentError(description === undefined ? 'Its form is invalid.' : `Expected: ${description}.`)
  }

/** Parses JSON, or with `@` the JSON in a file. */
function jsonOrFile(given: string): unknown {
  try {
    return JSON.parse(given.startsWith('@') ? textOfFile(given.slice(1)) : given)
  } catch (error) {
    if (error instanceof InvalidArgumentError) throw error
    throw new InvalidArgumentError('It must be JSON, or @ and the path of a JSON file.')
  }
}

function textOfFile(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new InvalidArgumentError(`Cannot read file ${path}: ${(error as NodeJS.ErrnoException).code ?? 'failed'}.`)
  }
}
