import assert from 'node:assert/strict'
import { test } from 'node:test'
import { holdsWords, linesOfPatch, matchesIn } from './file-search.ts'

const found = (content: string, text: string, most = 10) =>
  matchesIn('a.txt', Buffer.from(content), text, most).map(({ line_number, absolute_offset, lines, submatches }) => [
    line_number,
    absolute_offset,
    lines.text,
    submatches.map(({ start, end }) => [start, end]),
  ])

test('lines with a text are found with their numbers and places in bytes', () => {
  assert.deepEqual(found('one\ntwo é two\n\nthree two', 'two'), [
    [
      2,
      4,
      'two é two',
      [
        [0, 3],
        [7, 10],
      ],
    ],
    [4, 16, 'three two', [[6, 9]]],
  ])
  assert.deepEqual(found('a.b\naxb', 'a.b'), [[1, 0, 'a.b', [[0, 3]]]], 'the text is no pattern')
})

test('a text over a line break is found where it begins, and the search goes on', () => {
  assert.deepEqual(
    found('a\nb\na\nb', 'a\nb').map(([line]) => line),
    [1, 3],
  )
})

test('what is no text, and no search, finds nothing; more than asked for is left out', () => {
  assert.deepEqual(found('two\0two', 'two'), [])
  assert.deepEqual(found('two', ''), [])
  assert.equal(found('x\n'.repeat(50), 'x', 3).length, 3)
})

test('a path holds the words of a query in any order and case', () => {
  assert.equal(holdsWords('src/App/main.ts', 'MAIN app'), true)
  assert.equal(holdsWords('src/App/main.ts', 'main test'), false)
  assert.equal(holdsWords('a', ''), true)
})

test('the heads of a patch are no lines of it', () => {
  assert.deepEqual(linesOfPatch('--- a\n+++ b\n@@ -1,2 +1,2 @@\n-old\n+new\n+more\n same'), { added: 2, removed: 1 })
  assert.deepEqual(linesOfPatch(null), { added: 0, removed: 0 })
})
