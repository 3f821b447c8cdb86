import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { payloadOf } from './payload.ts'
import { filledTemplate as bounded, valueAt } from './template.ts'

const filledTemplate = (template: string, value: unknown) => bounded(template, value, 10_000)

const payload = {
  issue: { number: 7, title: 'Broken {{issue.body}}', labels: [{ name: 'bug' }], closed: false, body: null },
  'a-b': { $x: 'y' },
  text: '$& $1 `',
}

const filled: readonly (readonly [template: string, expected: string])[] = [
  ['#{{issue.number}}: {{ issue.title }}', '#7: Broken {{issue.body}}'],
  ['{{issue.labels.0.name}} {{a-b.$x}} {{issue.closed}}', 'bug y false'],
  ['[{{issue.body}}][{{nothing.at.all}}]', '[][]'],
  ['{{issue.labels}}', '[\n  {\n    "name": "bug"\n  }\n]'],
  ['{{text}}', '$& $1 `'],
  [
    '{{ issue . number }} {{}} {{issue.number | upper}} {{1+1}} {{issue["number"]}}',
    '{{ issue . number }} {{}} {{issue.number | upper}} {{1+1}} {{issue["number"]}}',
  ],
  ['{{constructor.constructor}}{{__proto__.x}}{{issue.labels.length}}{{toString}}{{text.length}}', '1'],
  ['no field', 'no field'],
]
for (const [template, expected] of filled) {
  test(`S33: the template ${JSON.stringify(template)} gives ${JSON.stringify(expected)}`, () => {
    assert.equal(filledTemplate(template, payload), expected)
  })
}

test('S33: text of a payload is inserted unchanged and never evaluated', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), text => {
      fc.pre(!text.includes('\0'))
      assert.equal(filledTemplate('<{{a.b}}>', { a: { b: text } }), `<${text}>`)
    }),
  )
})

test('a number keeps its digits, and characters that the database cannot store are replaced', () => {
  const { value } = payloadOf(Buffer.from('{"id":12345678901234567890,"text":"a\\u0000\\ud800"}'))
  assert.equal(filledTemplate('{{id}} {{text}}', value), '12345678901234567890 a\u{fffd}\u{fffd}')
})

test('a path finds only members of objects and arrays', () => {
  assert.equal(valueAt({ a: [1, { b: 2 }] }, 'a.1.b'), 2)
  for (const path of ['a.b', 'a.2', 'a.1.b.c', 'hasOwnProperty'])
    assert.equal(valueAt({ a: [1, { b: 2 }] }, path), undefined)
  for (const value of [null, 1, 'text', true]) assert.equal(valueAt(value, 'length'), undefined)
})

test('H4: a template that repeats a large field is rejected before it is filled', () => {
  const large = { text: 'x'.repeat(5_000_000), list: Array.from({ length: 100_000 }, (_, at) => ({ at })) }
  for (const field of ['text', 'list', 'text.x']) {
    const filled = bounded(`{{${field}}}`.repeat(12_000), large, 10_000_000)
    assert.equal(filled, field === 'text.x' ? '' : undefined)
  }
  assert.equal(bounded('{{text}}', large, 5_000_000)?.length, 5_000_000)
  assert.equal(bounded('{{text}}.', large, 5_000_000), undefined)
})
