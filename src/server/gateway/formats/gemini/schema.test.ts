import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { isRecord } from '../../../platform/json.ts'
import { cleanParameters, cleanSchema, newAllowance } from './schema.ts'

const table = [
  ['a plain string', { type: 'string', description: 'A name' }, { type: 'STRING', description: 'A name' }],
  ['a nullable type', { type: ['string', 'null'] }, { type: 'STRING', nullable: true }],
  ['only null', { type: 'null' }, { type: 'STRING', nullable: true }],
  [
    'several types',
    { type: ['string', 'number', 'null'], description: 'Either' },
    {
      anyOf: [
        { type: 'STRING', description: 'Either', nullable: true },
        { type: 'NUMBER', nullable: true },
      ],
    },
  ],
  ['a constant', { const: 'a' }, { type: 'STRING', enum: ['a'] }],
  ['a numeric constant', { const: 4 }, { type: 'INTEGER', description: '(one of: 4)' }],
  ['a string enum without type', { enum: ['a', '', null, 'b'] }, { type: 'STRING', enum: ['a', 'b'], nullable: true }],
  ['a numeric enum', { type: 'number', enum: [1, 2.5] }, { type: 'NUMBER', description: '(one of: 1, 2.5)' }],
  ['a boolean enum', { enum: [true] }, { type: 'BOOLEAN', description: '(one of: true)' }],
  [
    'exclusive bounds of integers',
    { type: 'integer', exclusiveMinimum: 0, exclusiveMaximum: 10 },
    {
      type: 'INTEGER',
      minimum: 1,
      maximum: 9,
    },
  ],
  [
    'exclusive bounds of numbers',
    { type: 'number', exclusiveMinimum: 0 },
    {
      type: 'NUMBER',
      description: '(above 0)',
      minimum: 0,
    },
  ],
  [
    'an unknown format and a pattern',
    { type: 'string', format: 'uri', pattern: '^h' },
    {
      type: 'STRING',
      description: '(format: uri; pattern: ^h)',
    },
  ],
  ['a known format', { type: 'string', format: 'date-time' }, { type: 'STRING', format: 'date-time' }],
  [
    'a default',
    { type: 'integer', default: 3, description: 'Lines' },
    {
      type: 'INTEGER',
      description: 'Lines (default: 3)',
    },
  ],
  [
    'an optional value',
    { anyOf: [{ type: 'string' }, { type: 'null' }], default: 'x' },
    {
      type: 'STRING',
      description: '(default: "x")',
      nullable: true,
    },
  ],
  [
    'oneOf with shared keywords',
    { type: 'string', description: 'Who', oneOf: [{ enum: ['a'] }, { maxLength: 3 }] },
    {
      anyOf: [
        { type: 'STRING', description: 'Who', enum: ['a'] },
        { type: 'STRING', maxLength: 3 },
      ],
    },
  ],
  [
    'allOf',
    {
      allOf: [
        { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] },
        { properties: { b: { type: 'boolean' } }, required: ['b'] },
      ],
    },
    {
      type: 'OBJECT',
      properties: { b: { type: 'BOOLEAN' }, a: { type: 'STRING' } },
      required: ['a', 'b'],
    },
  ],
  [
    'an array without items',
    { type: 'array', minItems: 1, uniqueItems: true, items: { type: 'string' } },
    {
      type: 'ARRAY',
      description: '(no duplicates)',
      items: { type: 'STRING' },
      minItems: 1,
    },
  ],
  [
    'required names without properties',
    { type: 'object', properties: { a: {}, b: { type: 'string' } }, required: ['b', 'c'] },
    {
      type: 'OBJECT',
      properties: {
        a: {
          anyOf: [
            { type: 'STRING' },
            { type: 'NUMBER' },
            { type: 'BOOLEAN' },
            { type: 'OBJECT' },
            { type: 'ARRAY', items: { type: 'STRING' } },
          ],
        },
        b: { type: 'STRING' },
      },
      required: ['b'],
    },
  ],
  [
    'a reference beside a description',
    {
      $defs: { 'a/b': { type: 'string', description: 'inner' } },
      $ref: '#/$defs/a~1b',
      description: 'outer',
    },
    { type: 'STRING', description: 'outer' },
  ],
  ['an unresolved reference', { $ref: 'https://else.test/schema', type: 'string' }, { type: 'STRING' }],
] as const

for (const [name, schema, expected] of table) {
  test(`M8: Gemini gets a valid schema for ${name}`, () => assert.deepEqual(cleanSchema(schema).schema, expected))
}

test('M8: properties with the names of rejected keywords are kept', () => {
  const names = ['$schema', 'additionalProperties', '$ref', 'const', 'default', 'anyOf', 'type', 'properties', 'allOf']
  const properties = Object.fromEntries(names.map(name => [name, { type: 'string' }]))
  const { schema, isSimplified } = cleanParameters({
    $schema: 'http://json-schema.org/draft-07/schema#',
    type: 'object',
    properties,
    required: names,
    additionalProperties: false,
  })
  assert.deepEqual(schema, {
    type: 'OBJECT',
    properties: Object.fromEntries(names.map(name => [name, { type: 'STRING' }])),
    required: names,
  })
  assert.equal(isSimplified, false)
})

test('a recursive schema is cut at the first repetition and marked as simplified', () => {
  const tree = { type: 'object', properties: { children: { type: 'array', items: { $ref: '#/$defs/tree' } } } }
  const { schema, isSimplified } = cleanSchema({ $ref: '#/$defs/tree', $defs: { tree } })
  assert.deepEqual(schema, { type: 'OBJECT', properties: { children: { type: 'ARRAY', items: { type: 'OBJECT' } } } })
  assert.equal(isSimplified, true)
})

test('a schema that doubles with each reference stays within the node limit', () => {
  const $defs = Object.fromEntries(
    Array.from({ length: 40 }, (_, level) => {
      const next = { $ref: `#/$defs/${level + 1}` }
      return [String(level), { type: 'object', properties: { a: next, b: next } }]
    }),
  )
  const { schema, isSimplified } = cleanSchema({ $ref: '#/$defs/0', $defs })
  assert.ok(JSON.stringify(schema).length < 1_000_000)
  assert.equal(isSimplified, true)
})

const listOf = <T>(length: number, of: (at: number) => T): T[] => Array.from({ length }, (_, at) => of(at))
const named = <T>(length: number, name: string, of: (at: number) => T) =>
  Object.fromEntries(listOf(length, at => [`${name}${at}`, of(at)]))
/** Schemas of at most 160 KB that would be repeated 400 times. */
const repeated: Readonly<Record<string, object>> = {
  'a long description': { type: 'string', description: 'x'.repeat(100_000) },
  'many numbers': { type: 'integer', enum: listOf(20_000, at => at) },
  'many texts': { type: 'string', enum: listOf(15_000, at => `text ${at}`) },
  'many parts': { allOf: listOf(2_000, at => ({ [`keyword${at}`]: 1 })) },
  'long lists of required properties': { allOf: listOf(190, () => ({ required: listOf(100, () => 'a') })) },
  'many alternatives and keywords': {
    ...named(1_000, 'keyword', () => 1),
    anyOf: listOf(2_000, at => ({ type: 'string', enum: [`e${at}`] })),
  },
  'a long chain of references': { $ref: '#/$defs/c0' },
}
for (const [what, definition] of Object.entries(repeated))
  test(`S50: 400 references to ${what} are cut before they take seconds and memory`, () => {
    const $defs = {
      all: definition,
      ...named(300, 'c', at => ({ $ref: `#/$defs/c${at + 1}` })),
      c300: { type: 'string' },
    }
    const properties = named(400, 'p', () => ({ $ref: '#/$defs/all' }))
    const { schema, isSimplified } = cleanParameters({ type: 'object', properties, $defs })
    assert.equal(isSimplified, true)
    assert.equal(Object.keys(schema?.['properties'] ?? {}).length, 400)
    assert.ok(JSON.stringify(schema).length < 1_000_000)
  })

test('S50: the tools of a request share its allowance, and what they use up is not cached for others', () => {
  const tool = (name: string) => ({
    type: 'object',
    properties: named(50, name, () => ({ $ref: '#/$defs/all' })),
    $defs: { all: { type: 'string', description: 'x'.repeat(4_000) } },
  })
  const allowance = newAllowance()
  assert.deepEqual(
    ['a', 'b', 'c'].map(name => cleanParameters(tool(name), allowance).isSimplified),
    [false, true, true],
  )
  assert.equal(cleanParameters(tool('c')).isSimplified, false)
})

test('a schema with extreme nesting does not throw', () => {
  const deep = (word: string, wrap: (inner: unknown) => unknown) => {
    let schema: unknown = { type: 'string' }
    for (let level = 0; level < 5_000; level++) schema = { [word]: wrap(schema) }
    return schema
  }
  for (const word of ['anyOf', 'allOf']) assert.equal(cleanSchema(deep(word, inner => [inner])).isSimplified, true)
  assert.equal(cleanSchema(deep('items', inner => inner)).isSimplified, true)
})

test('parameters are always an object, and absent for a function without parameters', () => {
  assert.deepEqual(cleanParameters({ type: 'object', properties: {} }), { isSimplified: false })
  assert.deepEqual(cleanParameters(undefined), { isSimplified: false })
  const branch = (name: string) => ({ type: 'object', properties: { [name]: { type: 'string' } }, required: [name] })
  assert.deepEqual(cleanParameters({ anyOf: [branch('a'), branch('b')] }), {
    schema: { type: 'OBJECT', properties: { a: { type: 'STRING' }, b: { type: 'STRING' } } },
    isSimplified: true,
  })
})

const simplified = [
  ['a map', { type: 'object', additionalProperties: { type: 'string' } }, true],
  ['names by pattern', { type: 'object', patternProperties: { '^x': {} } }, true],
  ['a tuple', { type: 'array', prefixItems: [{ type: 'string' }, { type: 'number' }] }, true],
  ['a closed object', { type: 'object', properties: { a: { type: 'string' } }, additionalProperties: false }, false],
  ['notes for people', { $comment: 'c', title: 't', examples: ['e'], type: 'string' }, false],
] as const

for (const [name, schema, expected] of simplified) {
  test(`${name} ${expected ? 'counts' : 'does not count'} as simplified`, () => {
    assert.equal(cleanSchema(schema).isSimplified, expected)
  })
}

/** Keywords of Gemini's Schema that are sent. */
const words = new Set([
  'type',
  'description',
  'nullable',
  'enum',
  'format',
  'items',
  'properties',
  'required',
  'anyOf',
  'minimum',
  'maximum',
  'minItems',
  'maxItems',
  'minLength',
  'maxLength',
  'minProperties',
  'maxProperties',
])

function checkSchema(schema: unknown): void {
  assert.ok(isRecord(schema))
  for (const word of Object.keys(schema)) assert.ok(words.has(word), `${word} is not Gemini's`)
  if (Array.isArray(schema['anyOf'])) {
    assert.deepEqual(Object.keys(schema), ['anyOf'])
    schema['anyOf'].forEach(checkSchema)
    return
  }
  assert.match(String(schema['type']), /^(OBJECT|ARRAY|STRING|NUMBER|INTEGER|BOOLEAN)$/)
  const { properties, items, required, enum: choices } = schema
  if (choices !== undefined) assert.ok(schema['type'] === 'STRING' && Array.isArray(choices) && choices.length > 0)
  if (schema['type'] === 'ARRAY') checkSchema(items)
  if (!isRecord(properties)) return
  for (const property of Object.values(properties)) checkSchema(property)
  for (const name of Array.isArray(required) ? required : []) assert.ok(Object.hasOwn(properties, name))
}

const name = fc.constantFrom('a', '$schema', 'additionalProperties', 'type', 'anyOf', '__proto__', '$ref', 'items')
const scalar = fc.oneof(fc.string({ maxLength: 3 }), fc.integer(), fc.boolean(), fc.constant(null))
const typeName = fc.constantFrom('string', 'number', 'integer', 'boolean', 'object', 'array', 'null', 'any')
const { schema: anySchema } = fc.letrec(tie => ({
  schema: fc.oneof(
    { maxDepth: 4 },
    fc.boolean(),
    fc.record(
      {
        type: fc.oneof(typeName, fc.uniqueArray(typeName, { maxLength: 3 })),
        properties: fc.dictionary(name, tie('schema'), { maxKeys: 3 }),
        required: fc.array(name, { maxLength: 3 }),
        items: fc.oneof(tie('schema'), fc.array(tie('schema'), { maxLength: 2 })),
        anyOf: fc.array(tie('schema'), { maxLength: 3 }),
        oneOf: fc.array(tie('schema'), { maxLength: 2 }),
        allOf: fc.array(tie('schema'), { maxLength: 2 }),
        enum: fc.array(scalar, { maxLength: 3 }),
        const: scalar,
        format: fc.constantFrom('uri', 'date-time', 'int32'),
        additionalProperties: fc.oneof(fc.boolean(), tie('schema')),
        $ref: fc.constantFrom('#', '#/$defs/a', '#/properties/a', '#/nowhere', 'else.json'),
        $defs: fc.dictionary(fc.constant('a'), tie('schema')),
        exclusiveMinimum: fc.oneof(fc.integer(), fc.boolean()),
        minLength: fc.integer(),
        uniqueItems: fc.boolean(),
        propertyNames: tie('schema'),
        patternProperties: fc.dictionary(name, tie('schema'), { maxKeys: 1 }),
        not: tie('schema'),
        default: fc.jsonValue({ maxDepth: 2 }),
        description: fc.string({ maxLength: 5 }),
      },
      { requiredKeys: [] },
    ),
  ),
}))

test('M8: cleaned schemas contain only keywords that Gemini accepts', () => {
  fc.assert(
    fc.property(anySchema, schema => {
      checkSchema(cleanSchema(schema).schema)
      const parameters = cleanParameters(schema).schema
      if (parameters) checkSchema(parameters)
      if (parameters) assert.equal(parameters['type'], 'OBJECT')
    }),
    { numRuns: 500 },
  )
})

test('M8: every property keeps its name', () => {
  fc.assert(
    fc.property(fc.dictionary(name, anySchema, { maxKeys: 6, minKeys: 1 }), properties => {
      const { schema } = cleanSchema({ type: 'object', properties })
      assert.deepEqual(Object.keys(schema['properties'] as object), Object.keys(properties))
    }),
  )
})

test('C4: cleaning is deterministic and does not change the input', () => {
  fc.assert(
    fc.property(anySchema, schema => {
      const before = JSON.stringify(schema)
      assert.equal(JSON.stringify(cleanSchema(schema)), JSON.stringify(cleanSchema(schema)))
      assert.equal(JSON.stringify(schema), before)
    }),
  )
})

test('equal parameters are converted once, different ones separately', () => {
  const parameters = (name: string) => ({ type: 'object', properties: { [name]: { type: 'string' } } })
  assert.equal(cleanParameters(parameters('a')), cleanParameters(parameters('a')))
  assert.deepEqual(cleanParameters(parameters('b')).schema?.['properties'], { b: { type: 'STRING' } })
})
