import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hunksOf } from './patch-lines.ts'

const patch = `--- a/clock.ts
+++ b/clock.ts
@@ -10,3 +10,4 @@ function now
 one
-two
+deux
+deux et demi
 three
@@ -40 +41 @@
---flag
+++flag
\\ No newline at end of file
`

test('Lines have the numbers of both files', () => {
  const [first] = hunksOf(patch)
  assert.deepEqual(
    first?.lines.map(({ op, text, before, after }) => [op, text, before, after]),
    [
      ['same', 'one', 10, 10],
      ['removed', 'two', 11, undefined],
      ['added', 'deux', undefined, 11],
      ['added', 'deux et demi', undefined, 12],
      ['same', 'three', 12, 13],
    ],
  )
})

test('Changed lines that look like names of files are lines, and the note on the last line is not', () => {
  const [, second] = hunksOf(patch)
  assert.deepEqual(
    second?.lines.map(({ op, text }) => [op, text]),
    [
      ['removed', '--flag'],
      ['added', '++flag'],
    ],
  )
})

test('A patch without hunks has no lines', () => assert.deepEqual(hunksOf('Binary files differ\n'), []))
