import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type DiffLine, lineDiff } from './line-diff.ts'

const text = fc.array(fc.constantFrom('a', 'b', 'c', ''), { maxLength: 12 }).map(lines => lines.join('\n'))
const side = (lines: readonly DiffLine[], left: DiffLine['op']) =>
  lines
    .filter(({ op }) => op !== left)
    .map(line => line.text)
    .join('\n')

test('law: with all lines shown, what was removed and what is the same is the old text, the rest the new one', () => {
  fc.assert(
    fc.property(text, text, (before, after) => {
      // Lines are shown only near a change.
      const lines = before === after ? [] : lineDiff(before, after, 100)
      assert.equal(side(lines, 'added'), before === after ? '' : before)
      assert.equal(side(lines, 'removed'), before === after ? '' : after)
    }),
  )
})

test('law: equal texts have no difference, and a diff shows no more changes than both texts have lines', () => {
  fc.assert(
    fc.property(text, text, (before, after) => {
      assert.deepEqual(lineDiff(before, before), [])
      const changes = lineDiff(before, after).filter(({ op }) => op !== 'same')
      assert.ok(changes.length <= before.split('\n').length + after.split('\n').length)
    }),
  )
})

test('a change in the middle is shown with three lines around it', () => {
  const lines = ['1', '2', '3', '4', '5', '6', '7', '8', '9']
  assert.deepEqual(
    lineDiff(lines.join('\n'), lines.with(4, 'five').join('\n')).map(({ op, text }) => `${op} ${text}`),
    ['same 2', 'same 3', 'same 4', 'removed 5', 'added five', 'same 6', 'same 7', 'same 8'],
  )
})

test('texts that have nothing in common are compared in bounded time', () => {
  const long = (mark: string) => Array.from({ length: 100_000 }, (_, at) => `${mark}${at}`).join('\n')
  // A table of all pairs would have 10,000,000,000 cells.
  assert.equal(lineDiff(long('a'), long('b')).length, 200_000)
})
