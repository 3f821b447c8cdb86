import fc from 'fast-check'
import { freeForm } from './free-form-values.ts'
import type { Schema } from './operations.ts'

/** Levels of a value that have optional members and more than one variant. */
const maxDepth = 5

/** Values for texts of a name, so that requests get past the checks of references; placeholders stand for ids. */
const textsOf: Readonly<Record<string, readonly string[]>> = {
  agent: ['{agent_id}'],
  agent_id: ['{agent_id}'],
  session_id: ['{session_id}'],
  skill_id: ['{skill_id}'],
  key_id: ['{key_id}'],
  schedule_id: ['{schedule_id}'],
  environment_id: ['{environment_id}'],
  messageID: ['{message_id}'],
  owner_id: ['me'],
  model: ['demo', 'echo'],
  modelID: ['demo', 'echo'],
  model_name: ['fuzzed'],
  runtime: ['builtin'],
  harness: ['builtin'],
  timezone: ['Europe/Berlin', 'UTC'],
  tz: ['Europe/Berlin'],
  cron: ['30 9 * * MON-FRI'],
  path: ['notes.txt', 'a/b.txt', ''],
  url: ['https://x.invalid/in', 'http://10.0.0.1/'],
  api_base: ['https://x.invalid/v1'],
}

/** Long waits only make a run longer. */
const boundsOf: Readonly<Record<string, readonly [least: number, most: number]>> = {
  wait: [0, 0],
  wait_ms: [0, 10],
  timeout_ms: [1_000, 2_000],
}

type Values = fc.Arbitrary<unknown>

/** Returns a function that generates values as a schema describes them, most of them valid. */
export function createSchemaValues(schemas: Readonly<Record<string, Schema>>) {
  function valuesOf(schema: Schema, name = '', depth = 0): Values {
    const known = freeForm[name]
    const described = describedBy(schema, name, depth)
    return known ? fc.oneof(described, fc.constantFrom(...known), fc.constantFrom(...known)) : described
  }

  function describedBy(schema: Schema, name: string, depth: number): Values {
    if (schema.$ref !== undefined) return describedBy(schemas[schema.$ref.split('/').at(-1) ?? ''] ?? {}, name, depth)
    if ('const' in schema) return fc.constant(schema.const)
    if (schema.enum) return fc.constantFrom(...schema.enum)
    const variants = schema.anyOf ?? schema.oneOf
    if (variants) return variantsOf(variants, name, depth)
    if (schema.allOf) return mergedOf(schema.allOf, name, depth)
    return ofType(schema, name, depth)
  }

  function variantsOf(variants: readonly Schema[], name: string, depth: number): Values {
    const chosen = depth < maxDepth ? variants : variants.slice(0, 1)
    return fc.oneof(...chosen.map(variant => describedBy(variant, name, depth)))
  }

  const mergedOf = (parts: readonly Schema[], name: string, depth: number): Values =>
    fc.tuple(...parts.map(part => valuesOf(part, name, depth))).map(values => Object.assign({}, ...values) as unknown)

  function ofType(schema: Schema, name: string, depth: number): Values {
    const types = [schema.type ?? (schema.properties ? 'object' : 'any')].flat()
    return fc.oneof(...types.map(type => ofOneType(type, schema, { name, depth })))
  }

  function ofOneType(type: string, schema: Schema, { name, depth }: { name: string; depth: number }): Values {
    switch (type) {
      case 'string':
        return textOf(schema, name)
      case 'integer':
      case 'number':
        return numberOf(schema, name, type === 'integer')
      case 'boolean':
        return fc.boolean()
      case 'null':
        return fc.constant(null)
      case 'array':
        return arrayOf(schema, name, depth)
      case 'object':
        return objectOf(schema, depth)
      default:
        return fc.jsonValue({ maxDepth: 2 })
    }
  }

  function arrayOf({ items = {}, minItems = 0, maxItems = 3 }: Schema, name: string, depth: number): Values {
    const most = depth < maxDepth ? Math.max(minItems, Math.min(maxItems, 3)) : minItems
    return fc.array(valuesOf(items, name, depth + 1), { minLength: minItems, maxLength: most })
  }

  function objectOf(schema: Schema, depth: number): Values {
    const { properties = {}, required = [] } = schema
    const isDeep = depth >= maxDepth
    const named = Object.entries(properties).filter(([name]) => !isDeep || required.includes(name))
    const members = Object.fromEntries(named.map(([name, of]) => [name, memberOf(of, name, required, depth)]))
    return fc
      .tuple(fc.record(members), isDeep ? fc.constant({}) : openMembersOf(schema, depth))
      .map(([fixed, open]) => {
        const present = Object.entries(fixed).filter(([, value]) => value !== absent)
        return { ...(open as object), ...Object.fromEntries(present) }
      })
  }

  /** Optional members are mostly absent, since two that exclude each other would end most requests. */
  function memberOf(schema: Schema, name: string, required: readonly string[], depth: number): Values {
    const values = valuesOf(schema, name, depth + 1)
    if (required.includes(name)) return values
    return fc.oneof({ weight: 3, arbitrary: fc.constant(absent) }, { weight: 1, arbitrary: values })
  }

  function openMembersOf({ additionalProperties, patternProperties }: Schema, depth: number): Values {
    const of = Object.values(patternProperties ?? {})[0] ?? additionalProperties
    if (typeof of !== 'object') return fc.constant({})
    return fc.dictionary(fc.constantFrom('a', 'b_2', 'Name', '0'), valuesOf(of, '', depth + 1), { maxKeys: 2 })
  }

  return valuesOf
}

const absent = Symbol('absent')

function textOf({ pattern, format, minLength = 0, maxLength = 60 }: Schema, name: string): Values {
  const known = textsOf[name]
  if (known) return fc.constantFrom(...known)
  if (format === 'date-time') return fc.constantFrom('2026-11-27T10:00:00Z', '2020-02-29T23:59:59.999+02:00')
  if (pattern !== undefined && pattern !== '\\S') return fc.stringMatching(new RegExp(pattern), { maxLength: 100 })
  const most = Math.max(minLength, Math.min(maxLength, 40))
  return fc.oneof(
    fc.string({ unit: 'grapheme-ascii', minLength, maxLength: most }),
    fc.string({ unit: 'grapheme', minLength, maxLength: most }),
    fc.constant('x'.repeat(Math.min(Math.max(minLength, maxLength), 100_000))),
  )
}

function numberOf({ minimum = -1_000, maximum = 1_000_000 }: Schema, name: string, isInteger: boolean): Values {
  const [min, max] = boundsOf[name] ?? [minimum, maximum]
  const inner = isInteger
    ? fc.integer({ min: Math.ceil(min), max: Math.floor(max) })
    : fc.double({ min, max, noNaN: true })
  return fc.oneof({ weight: 3, arbitrary: inner }, { weight: 1, arbitrary: fc.constantFrom(min, max) })
}
