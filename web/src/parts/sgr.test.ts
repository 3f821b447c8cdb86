import assert from 'node:assert/strict'
import { test } from 'node:test'
import { processorMs } from '../../../test/support/service/processor-time.ts'
import { styledTexts, withoutCodes } from './sgr.ts'

const colorsOf = (output: string) => styledTexts(output).map(({ text, style }) => [text, style.color ?? 'none'])

test('codes for color and weight become styles, up to their reset', () => {
  assert.deepEqual(colorsOf('\u001b[32mok\u001b[0m done'), [
    ['ok', 'green'],
    [' done', 'none'],
  ])
  const [bold] = styledTexts('\u001b[1;31mFAIL')
  assert.equal(bold?.style.isBold, true)
  assert.equal(bold?.style.color, 'red')
})

test('256 colors and true colors are shown as the nearest named color, greys without one', () => {
  assert.deepEqual(colorsOf('\u001b[38;5;196ma\u001b[38;2;20;200;30mb\u001b[38;5;244mc'), [
    ['a', 'red'],
    ['b', 'green'],
    ['c', 'none'],
  ])
})

test('text cannot be hidden by concealed or background colors', () => {
  assert.deepEqual(colorsOf('\u001b[8;40;30mhidden'), [['hidden', 'black']])
})

const vanishing = [
  ['cursor movement', 'a\u001b[2K\u001b[1;1Hb', 'ab'],
  ['a title', 'a\u001b]0;title\u0007b', 'ab'],
  ['a link', '\u001b]8;;https://a.test\u001b\\text\u001b]8;;\u001b\\', 'text'],
  ['a charset', 'a\u001b(Bb', 'ab'],
  ['an overwritten line', '10 %\r50 %\r100 %\nnext\r\n', '100 %\nnext\n'],
  ['an unfinished code', 'a\u001b[3', 'a[3'],
] as const

for (const [what, output, text] of vanishing) {
  test(`${what} vanishes`, () => {
    const shown = styledTexts(output)
      .map(({ text: each }) => each)
      .join('')
    assert.equal(withoutCodes(output), shown)
    if (what !== 'an unfinished code') assert.equal(shown, text)
  })
}

test('H4: an unfinished code of any length is read in linear time', () => {
  const text = '!'.repeat(200_000)
  // Backtracking takes over 10 s.
  assert.ok(processorMs(() => assert.equal(withoutCodes(`\u001b[${text}`), text)) < 1_000)
})
