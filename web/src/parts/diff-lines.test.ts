import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type DiffLine, numbered, partsOf, sizeOf } from './diff-lines.ts'

const same = (count: number): DiffLine[] => Array.from({ length: count }, (_, at) => ({ op: 'same', text: `${at}` }))
const changed: DiffLine[] = [
  { op: 'removed', text: 'old' },
  { op: 'added', text: 'new' },
]

test('lines have their numbers in both texts', () => {
  const lines = numbered([...same(1), ...changed, ...same(1)])
  assert.deepEqual(
    lines.map(({ before, after }) => [before, after]),
    [
      [1, 1],
      [2, undefined],
      [undefined, 2],
      [3, 3],
    ],
  )
})

test('unchanged lines far from a change are folded, and all lines stay in their order', () => {
  const lines = [...same(10), ...changed, ...same(20), ...changed, ...same(4)]
  const parts = partsOf(lines)
  assert.deepEqual(
    parts.map(({ isFolded, lines: { length } }) => [isFolded, length]),
    [
      [true, 7],
      [false, 8],
      [true, 14],
      [false, 8],
      [false, 1],
    ],
  )
  assert.deepEqual(
    parts.flatMap(part => part.lines.map(({ text }) => text)),
    lines.map(({ text }) => text),
  )
})

test('a single line is never folded, and equal texts are one folded part', () => {
  assert.deepEqual(
    partsOf([...same(4), ...changed]).map(({ isFolded }) => isFolded),
    [false, false],
  )
  assert.deepEqual(
    partsOf(same(9)).map(({ isFolded }) => isFolded),
    [true],
  )
  assert.deepEqual(partsOf([]), [])
})

test('the size counts added and removed lines', () => {
  assert.deepEqual(sizeOf([...changed, { op: 'added', text: '' }, ...same(2)]), { added: 2, removed: 1 })
})
