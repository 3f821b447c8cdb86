import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type Cell, csvLine } from './csv.ts'

const nasty = fc.string({
  unit: fc.constantFrom(
    '"',
    ',',
    '\r',
    '\n',
    '\t',
    "'",
    '=',
    '+',
    '-',
    '@',
    '＝',
    ' ',
    ';',
    'a',
    '1',
    '.',
    'ü',
    '\u{1f600}',
  ),
  maxLength: 12,
})
const text = fc.oneof(nasty, fc.string({ unit: 'binary', maxLength: 20 }))
const cell = fc.oneof(text, fc.constant(null), fc.integer(), fc.boolean())
const table = fc.array(fc.array(cell, { minLength: 2, maxLength: 5 }), { maxLength: 5 })

/** What is read for a cell: the text of a file knows no types. */
const readOf = (given: Cell): string | null => (given === null ? null : String(given))

/** A reader of RFC 4180 that tells an empty cell from an empty text. */
function parse(csv: string): (string | null)[][] {
  const rows: (string | null)[][] = []
  let row: (string | null)[] = []
  let at = 0
  while (at < csv.length) {
    const [matched = '', quoted, bare = ''] = /^(?:"((?:[^"]|"")*)"|([^",\r\n]*))/.exec(csv.slice(at)) ?? []
    at += matched.length
    row.push(quoted !== undefined ? quoted.replaceAll('""', '"') : bare === '' ? null : bare)
    if (csv.startsWith('\r\n', at)) {
      rows.push(row)
      row = []
      at += 2
    } else if (csv[at] === ',') at += 1
    else throw new Error(`neither an end of a cell nor of a line at ${at}: ${JSON.stringify(csv.slice(at))}`)
  }
  return rows
}

test('S47: what is written is what is read, but for the apostrophe before a formula', () => {
  fc.assert(
    fc.property(table, rows => {
      const read = parse(rows.map(csvLine).join(''))
      const unguarded = read.map((row, y) =>
        row.map((value, x) => (value === `'${rows[y]?.[x]}` ? value.slice(1) : value)),
      )
      assert.deepEqual(
        unguarded,
        rows.map(row => row.map(readOf)),
      )
    }),
    { numRuns: 2_000 },
  )
})

test('S47: no text begins as a formula does, whatever stands in it', () => {
  fc.assert(
    fc.property(fc.array(text, { minLength: 2, maxLength: 4 }), cells => {
      for (const value of parse(csvLine(cells))[0] ?? []) {
        if (value === null || /^-?\d+(\.\d+)?$/.test(value)) continue
        assert.doesNotMatch(value, /^\s*[=+\-@＝＋－＠]/)
        assert.doesNotMatch(value, /^[\t\r\n]/)
      }
    }),
    { numRuns: 2_000 },
  )
})

const spellings: readonly (readonly [given: Cell, expected: string])[] = [
  ['plain', 'plain'],
  ['=1+1', "'=1+1"],
  ['=HYPERLINK("http://x","y")', `"'=HYPERLINK(""http://x"",""y"")"`],
  ['+cmd', "'+cmd"],
  ['-2+3', "'-2+3"],
  ['@SUM(A1)', "'@SUM(A1)"],
  ['\t=1', `"'\t=1"`],
  ['  =1', "'  =1"],
  ['a;=1', '"a;=1"'],
  ['-0.5', '-0.5'],
  [-0.5, '-0.5'],
  [true, 'true'],
  ['', '""'],
  [null, ''],
  ['a,b', '"a,b"'],
  ['say "hi"', '"say ""hi"""'],
  ['two\r\nlines', '"two\r\nlines"'],
]
for (const [given, expected] of spellings) {
  test(`${JSON.stringify(given)} is written as ${JSON.stringify(expected)}`, () => {
    assert.equal(csvLine([given]), `${expected}\r\n`)
  })
}
