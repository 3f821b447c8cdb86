import assert from 'node:assert/strict'
import { test } from 'node:test'
import { enteredValues, fieldsOf, readArguments } from './schema-fields.ts'

const schema = {
  type: 'object',
  properties: {
    text: { type: 'string', title: 'Text', description: 'Words' },
    limit: { type: ['integer', 'null'], minimum: 1, maximum: 100, default: 20 },
    score: { type: 'number' },
    state: { enum: ['open', 2, null] },
    only: { const: 'fixed' },
    deep: { type: 'boolean' },
    labels: { type: 'array', items: { type: 'string' } },
    either: { type: ['string', 'number'] },
    odd: true,
    ['__proto__']: { type: 'string' },
  },
  required: ['text', 'labels'],
}
const fields = fieldsOf(schema)
const entered = (inputs: Record<string, string>) => enteredValues(fields, new Map(Object.entries(inputs)))

test('each property has a control by its type, and everything without a simple one is JSON', () => {
  assert.deepEqual(
    fields.map(({ name, control }) => [name, control]),
    [
      ['text', 'text'],
      ['limit', 'number'],
      ['score', 'number'],
      ['state', 'choice'],
      ['only', 'choice'],
      ['deep', 'boolean'],
      ['labels', 'json'],
      ['either', 'json'],
      ['odd', 'json'],
      ['__proto__', 'text'],
    ],
  )
  const limit = fields.find(({ name }) => name === 'limit')
  assert.deepEqual([limit?.isInteger, limit?.minimum, limit?.fallback], [true, 1, '20'])
})

test('inputs become typed values; fields without input are left out', () => {
  const { values, problems } = entered({
    text: ' two words ',
    limit: '7',
    score: '0.5',
    state: '1',
    deep: 'false',
    labels: '["bug"]',
    only: '',
  })
  assert.deepEqual(values, { text: ' two words ', limit: 7, score: 0.5, state: 2, deep: false, labels: ['bug'] })
  assert.equal(problems.size, 0)
})

test('a property named __proto__ is an ordinary value', () => {
  const { values } = entered({ text: 'a', labels: '[]', ['__proto__']: 'b' })
  assert.ok(Object.hasOwn(values, '__proto__'))
  assert.equal(Object.getPrototypeOf(values), Object.prototype)
})

test('missing, malformed and out-of-range values are problems of their fields', () => {
  const { problems } = entered({ limit: '1.5', score: 'x', labels: '[' })
  assert.deepEqual([...problems.keys()], ['text', 'limit', 'score', 'labels'])
  assert.match(entered({ limit: '101' }).problems.get('limit') ?? '', /100 or less/)
  assert.match(entered({ limit: '0' }).problems.get('limit') ?? '', /1 or more/)
})

for (const [given, expected] of [
  ['', { value: {} }],
  ['{"a": 1}', { value: { a: 1 } }],
  ['[1]', { problem: 'Must be a JSON object' }],
] as const) {
  test(`arguments as JSON: ${given || 'empty'}`, () => assert.deepEqual(readArguments(given), expected))
}

for (const odd of [undefined, null, true, [], { type: 'object' }, { properties: [] }]) {
  test(`a schema ${JSON.stringify(odd)} has no fields`, () => assert.deepEqual(fieldsOf(odd), []))
}
