import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { processorMs } from '../../test/support/service/processor-time.ts'
import { createOut } from './out.ts'
import { plainJson, plainLine, plainText } from './plain-text.ts'

const table = [
  ['colours go', '\u001b[31mred\u001b[0m', 'red'],
  ['a title goes with its text', '\u001b]0;owned\u0007after', 'after'],
  ['a link keeps its words only', '\u001b]8;;http://evil.test\u0007here\u001b]8;;\u0007', 'here'],
  ['a title without an end stays as text', '\u001b]0;owned', '0;owned'],
  ['a screen that is cleared and a moved cursor go', '\u001b[2J\u001b[1;1Htop', 'top'],
  ['the eight-bit forms go', '\u009b31mred', 'red'],
  ['a line cannot be written over', 'safe\rrm -rf /', 'saferm -rf /'],
  ['text cannot be turned around', 'a\u202egnp.exe', 'agnp.exe'],
  ['backspaces go', 'abc\b\b\bxyz', 'abcxyz'],
  ['tabs, newlines, emoji and other scripts stay', 'a\tb\nc 👩‍👩‍👧 日本 עברית', 'a\tb\nc 👩‍👩‍👧 日本 עברית'],
  ['line ends of Windows become newlines', 'a\r\nb', 'a\nb'],
] as const

for (const [guarantee, text, expected] of table) {
  test(guarantee, () => assert.equal(plainText(text), expected))
}

test('S44: text full of titles without an end is read in linear time', () => {
  const shown = '0;'.repeat(100_000)
  for (const start of ['\u001b]', '\u009d']) {
    const text = `${start}0;`.repeat(100_000)
    // Node's own function takes over 10 s for one of them.
    assert.ok(processorMs(() => assert.equal(plainText(text), shown)) < 1_000)
  }
})

const hostile = fc
  .array(
    fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constantFrom('\u001b', '\u001b[', '\u009b', ';', '31m', '\u0007', '\u202e', '\r'),
    ),
  )
  .map(parts => parts.join(''))
const dangerous = /[\p{Cc}\u202a-\u202e\u2066-\u2069]/u

test('plain text contains no terminal control for any input, and is idempotent', () => {
  fc.assert(
    fc.property(hostile, text => {
      const safe = plainText(text)
      assert.doesNotMatch(safe.replaceAll(/[\t\n]/g, ''), dangerous)
      assert.equal(plainText(safe), safe)
    }),
  )
})

test('JSON output is the same value without raw control characters', () => {
  fc.assert(
    fc.property(hostile, text => {
      const json = plainJson({ text })
      assert.doesNotMatch(json, dangerous)
      assert.deepEqual(JSON.parse(json), { text })
    }),
  )
})

test('a truncated line ends with an ellipsis and never splits a character', () => {
  assert.equal(plainLine('a  b\nc', 10), 'a b c')
  assert.equal(plainLine('😀😀😀', 3), '😀…')
})

test('printed text contains no foreign escapes, with and without colours', () => {
  fc.assert(
    fc.property(hostile, fc.boolean(), (text, hasColours) => {
      let written = ''
      const sink = {
        write: (part: string) => {
          written += part
        },
      }
      const out = createOut({ stdout: sink, stderr: sink, isJson: false, isTerminal: true, hasColours })
      out.line({ text, tone: 'bad' }, text)
      out.text(text)
      out.note(text)
      out.failure(text, {})
      const own = hasColours ? written.replaceAll('\u001b[31m', '').replaceAll('\u001b[0m', '') : written
      assert.doesNotMatch(own.replaceAll(/[\t\n]/g, ''), dangerous)
    }),
  )
})
