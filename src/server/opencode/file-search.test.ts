import assert from 'node:assert/strict'
import { test } from 'node:test'
import { containsWords, linesOfPatch, matchesIn } from './file-search.ts'

const found = (content: string, text: string, most = 10) =>
  matchesIn('a.txt', Buffer.from(content), text, most).map(({ line_number, absolute_offset, lines, submatches }) => [
    line_number,
    absolute_offset,
    lines.text,
    submatches.map(({ start, end }) => [start, end]),
  ])

test('matching lines are found with their numbers and byte offsets', () => {
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

test('a text across a line break is found where it starts, and the search continues', () => {
  assert.deepEqual(
    found('a\nb\na\nb', 'a\nb').map(([line]) => line),
    [1, 3],
  )
})

test('a binary file or an empty search has no matches, and matches above the limit are omitted', () => {
  assert.deepEqual(found('two\0two', 'two'), [])
  assert.deepEqual(found('two', ''), [])
  assert.equal(found('x\n'.repeat(50), 'x', 3).length, 3)
})

test('a path matches the words of a query in any order and case', () => {
  assert.equal(containsWords('src/App/main.ts', 'MAIN app'), true)
  assert.equal(containsWords('src/App/main.ts', 'main test'), false)
  assert.equal(containsWords('a', ''), true)
})

test('the headers of a patch are not counted as lines', () => {
  assert.deepEqual(linesOfPatch('--- a\n+++ b\n@@ -1,2 +1,2 @@\n-old\n+new\n+more\n same'), { added: 2, removed: 1 })
  assert.deepEqual(linesOfPatch(null), { added: 0, removed: 0 })
})
