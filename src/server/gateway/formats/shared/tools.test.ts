import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { createCustomInput } from './tools.ts'

test('the text of a custom tool is read from its JSON while it streams, split at any place', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.boolean(), fc.array(fc.nat(200)), (text, isAscii, cuts) => {
      const plain = JSON.stringify({ input: text })
      // Each character may be escaped.
      const json = isAscii
        ? plain.replaceAll(/[^ -~]/g, one => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`)
        : plain
      const places = [...new Set(cuts.map(cut => cut % json.length))].sort((a, b) => a - b)
      const input = createCustomInput()
      const pieces = [0, ...places].map((from, at) => input.push(json.slice(from, places[at] ?? json.length)))
      assert.equal(pieces.join('') + input.end(), text)
      assert.equal(input.text, text)
    }),
  )
})

const others: readonly (readonly [string, string, string])[] = [
  ['spaces around the parts', ' { "input" : "a" } ', 'a'],
  ['another field first', '{"x":1,"input":"a"}', 'a'],
  ['without the field: the JSON itself', '{"patch":"a"}', '{"patch":"a"}'],
  ['truncated in the text: the received part', '{"input":"ab\\u00', 'ab'],
]
for (const [guarantee, json, text] of others) {
  test(`the text of a custom tool: ${guarantee}`, () => {
    const input = createCustomInput()
    assert.equal(input.push(json) + input.end(), text)
  })
}

test('H5: a text of a custom tool after very long whitespace is read once, at the end', () => {
  const input = createCustomInput()
  const started = process.cpuUsage()
  for (let count = 0; count < 20_000; count++) input.push('          ')
  assert.equal(input.push('{"input":"a"}') + input.end(), 'a')
  assert.ok(process.cpuUsage(started).user < 1_000_000)
})
