import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { diffLines } from './line-changes.ts'

test('a diff keeps the lines around a change', () => {
  const lines = diffLines('a\nb\nc\nd\n', 'a\nc\nx\nd\n')
  assert.deepEqual(
    lines.map(({ op, text }) => `${op} ${text}`),
    ['same a', 'removed b', 'same c', 'added x', 'same d'],
  )
})

test('a diff contains both texts, line by line', () => {
  const text = fc
    .array(fc.constantFrom('a', 'b', 'c', ''), { maxLength: 12 })
    .map(lines => lines.map(line => `${line}\n`).join(''))
  fc.assert(
    fc.property(text, text, (before, after) => {
      const lines = diffLines(before, after)
      const without = (op: string) =>
        lines
          .filter(line => line.op !== op)
          .map(line => `${line.text}\n`)
          .join('')
      assert.equal(without('added'), before)
      assert.equal(without('removed'), after)
    }),
  )
})

test('long texts that differ everywhere are replaced as a whole', () => {
  const numbered = (name: string) => Array.from({ length: 2_100 }, (_, at) => `${name}${at}`).join('\n')
  const lines = diffLines(numbered('a'), numbered('b'))
  assert.equal(lines.length, 4_200)
  assert.equal(lines[2_099]?.op, 'removed')
})

test('a missing line break at the end is no difference', () =>
  assert.deepEqual(diffLines('a\nb', 'a\nb\n'), [
    { op: 'same', text: 'a' },
    { op: 'same', text: 'b' },
  ]))
