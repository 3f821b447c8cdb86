import assert from 'node:assert/strict'
import { test } from 'node:test'
import { tableLines } from './table.ts'
import { cutToWidth, textWidth, wrapToWidth } from './text-width.ts'

const headings = ['ID', 'STATUS', 'MODEL', 'NAME']
const id = `agent_${'0'.repeat(32)}`
const rows = [
  [id, 'active', 'anthropic/claude-opus', 'A name that does not fit beside the other columns'],
  [id, 'active', 'demo', '日本語のとても長い名前がここにあります、まだ続きます'],
  [id, 'active', 'demo', 'שלום עולם, שם ארוך מאוד של סוכן שאינו נכנס'],
]

const widths = [
  ['ASCII', 'abc', 3],
  ['wide characters', '日本', 4],
  ['Hangul', '한국어', 6],
  ['emoji of several code points', '👩‍👩‍👧', 2],
  ['a flag', '🇩🇪', 2],
  ['combining marks', 'e\u0301a', 2],
  ['Hebrew with points', 'שָׁלוֹם', 4],
  ['Arabic', 'مرحبا', 5],
  ['nothing', '', 0],
] as const

for (const [what, text, width] of widths) {
  test(`the width of ${what} is counted in columns`, () => assert.equal(textWidth(text), width))
}

test('a cut text never exceeds its width, and no character is halved', () => {
  assert.equal(cutToWidth('日本語', 6), '日本語')
  assert.equal(cutToWidth('日本語', 5), '日本…')
  assert.equal(cutToWidth('日本語', 4), '日…')
  assert.equal(cutToWidth('abc', 2), 'a…')
})

test('without a width a table is complete', () => {
  const lines = tableLines(headings, rows)
  assert.ok(lines[1]?.endsWith('A name that does not fit beside the other columns'))
  assert.match(lines[0] ?? '', /^ID +STATUS +MODEL +NAME$/)
})

for (const width of [120, 80, 50]) {
  test(`a table fits ${width} columns, and ids are whole`, () => {
    const lines = tableLines(headings, rows, { width })
    for (const line of lines) assert.ok(textWidth(line) <= width, line)
    for (const line of lines.slice(1)) assert.ok(line.startsWith(id))
  })
}

test('columns are left out by priority', () => {
  const cells = [['1', 'aaaaaaaaaa', 'bbbbbbbbbb', 'name']]
  const heads = ['ID', 'A', 'B', 'NAME']
  assert.equal(tableLines(heads, cells, { width: 20 })[0], 'ID  A           NAME')
  assert.equal(tableLines(heads, cells, { width: 20, dropFirst: ['A'] })[0], 'ID  B           NAME')
  assert.equal(tableLines(heads, cells, { width: 9, dropFirst: ['NAME', 'A', 'B'] })[0], 'ID')
})

test('lines are wrapped at spaces and keep their indent', () => {
  assert.deepEqual(wrapToWidth('aa bb cc', 5), ['aa bb', 'cc'])
  assert.deepEqual(wrapToWidth('  "a": 1', 20), ['  "a": 1'])
  assert.deepEqual(wrapToWidth('toolongword a', 5), ['toolongword', 'a'])
})
