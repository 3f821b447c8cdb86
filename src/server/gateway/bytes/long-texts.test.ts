import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { requestWords } from '../core/request-words.ts'
import { keysOf, ownMembers } from './json-members.ts'
import { extractLongTexts } from './long-texts.ts'

const padding = 'x'.repeat(40_000)
const keys = keysOf(['messages'])

/** Extracts the long texts of a body of more than 32 KiB. */
const extracted = (body: Buffer) => extractLongTexts(body, ownMembers(body, keys, requestWords))

/** Extracts the long texts of `value`, applies `convert` and restores the texts. */
function converted(value: object, convert: (given: unknown) => unknown): unknown {
  const body = Buffer.from(JSON.stringify({ padding, value }))
  const extraction = extracted(body)
  assert.ok(extraction)
  const { value: given } = JSON.parse(extraction.text) as { value: unknown }
  assert.ok(JSON.stringify(given).length < JSON.stringify(value).length)
  return JSON.parse(extraction.restore(Buffer.from(JSON.stringify(convert(given)))).toString())
}

const unit = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 9 }),
  fc.constantFrom('"', '\\', '\n', 'é', '😀', '\ud83d'),
)
const long = fc.array(unit, { minLength: 400, maxLength: 500 }).map(units => `${units.join('')}${'a'.repeat(500)}.`)

test('long texts are restored unchanged, also in nested JSON texts', () =>
  fc.assert(
    fc.property(long, long, fc.nat(3), (text, content, depth) => {
      const value = [{ type: 'text', text }, { role: 'user', content }, { text: 'short' }]
      const nested = (given: unknown, left: number): unknown =>
        left === 0 ? given : JSON.stringify(nested(given, left - 1))
      const opened = (given: unknown, left: number): unknown =>
        left === 0 ? given : JSON.parse(opened(given, left - 1) as string)
      assert.deepEqual(
        opened(
          converted(value, given => nested(given, depth)),
          depth,
        ),
        value,
      )
    }),
    { numRuns: 200 },
  ))

test('a text may be left out, repeated or joined with others', () => {
  const [text, other] = ['a'.repeat(600), 'b'.repeat(600)]
  const joined = converted([{ text }, { text: other }], given => {
    const [first, second] = given as { text: string }[]
    return [`${second?.text} and ${second?.text}`, first?.text.trim()]
  })
  assert.deepEqual(joined, [`${other} and ${other}`, text])
  assert.deepEqual(
    converted([{ text }], () => []),
    [],
  )
})

const notExtracted: readonly (readonly [name: string, value: object])[] = [
  ['a short text', { text: 'x'.repeat(500) }],
  ['another member', { data: 'x'.repeat(9_000), arguments: 'x'.repeat(9_000), signature: 'x'.repeat(9_000) }],
  ['a text with space at its end', { text: `${'x'.repeat(900)} ` }],
  ['a text with an escape at its end', { text: `${'x'.repeat(900)}\n` }],
  ['a text with a character of several bytes at its end', { text: `${'x'.repeat(900)}\u00a0` }],
  ['the billing header of Claude Code', { text: `x-anthropic-billing-header: ${'x'.repeat(900)}` }],
  ['a document with texts', { type: 'document', source: { type: 'content', content: [{ text: 'x'.repeat(900) }] } }],
  ['an array element', { text: ['x'.repeat(900)] }],
]

for (const [name, value] of notExtracted) {
  test(`is not extracted: ${name}`, () =>
    assert.equal(extracted(Buffer.from(JSON.stringify({ padding, value }))), undefined))
}

test('a body that is not UTF-8 or not long is not extracted', () => {
  const body = Buffer.from(JSON.stringify({ padding, text: 'x'.repeat(900) }))
  assert.ok(extracted(body))
  body[body.length - 100] = 0xff
  assert.equal(extracted(body), undefined)
  assert.equal(extracted(Buffer.from(JSON.stringify({ text: 'x'.repeat(900) }))), undefined)
})

test('white space around the colon changes nothing', () => {
  const body = Buffer.from(`{"padding":"${padding}","text" \n:\t "${'x'.repeat(900)}" }`)
  const extraction = extracted(body)
  assert.ok(extraction)
  assert.equal(extraction.restore(Buffer.from(extraction.text)).toString(), body.toString())
})
