import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { requestWords } from '../core/request-words.ts'
import { keysOf, ownMembers } from './json-members.ts'
import { liftTexts } from './long-texts.ts'

const padding = 'x'.repeat(40_000)
const keys = keysOf(['messages'])

/** Lifts the long texts of a body of more than 32 KiB. */
const lifted = (body: Buffer) => liftTexts(body, ownMembers(body, keys, requestWords))

/** `value` with its long texts lifted, changed by `convert`, and put back. */
function converted(value: object, convert: (given: unknown) => unknown): unknown {
  const body = Buffer.from(JSON.stringify({ padding, value }))
  const lift = lifted(body)
  assert.ok(lift)
  const { value: given } = JSON.parse(lift.text) as { value: unknown }
  assert.ok(JSON.stringify(given).length < JSON.stringify(value).length)
  return JSON.parse(lift.lower(Buffer.from(JSON.stringify(convert(given)))).toString())
}

const unit = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 9 }),
  fc.constantFrom('"', '\\', '\n', 'é', '😀', '\ud83d'),
)
const long = fc.array(unit, { minLength: 400, maxLength: 500 }).map(units => `${units.join('')}${'a'.repeat(500)}.`)

test('long texts come back as they were, in any JSON text within a JSON text', () =>
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

test('a text may be left out, said twice or joined with others', () => {
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

const kept: readonly (readonly [name: string, value: object])[] = [
  ['a short text', { text: 'x'.repeat(500) }],
  ['another member', { data: 'x'.repeat(9_000), arguments: 'x'.repeat(9_000), signature: 'x'.repeat(9_000) }],
  ['a text with space at its end', { text: `${'x'.repeat(900)} ` }],
  ['a text with an escape at its end', { text: `${'x'.repeat(900)}\n` }],
  ['a text with a character of several bytes at its end', { text: `${'x'.repeat(900)}\u00a0` }],
  ['the line that Claude Code begins with', { text: `x-anthropic-billing-header: ${'x'.repeat(900)}` }],
  ['a document of texts', { type: 'document', source: { type: 'content', content: [{ text: 'x'.repeat(900) }] } }],
  ['an element', { text: ['x'.repeat(900)] }],
]

for (const [name, value] of kept) {
  test(`is read all the same: ${name}`, () =>
    assert.equal(lifted(Buffer.from(JSON.stringify({ padding, value }))), undefined))
}

test('bytes that are no UTF-8 are read, as they are elsewhere, and so is a body that is not long', () => {
  const body = Buffer.from(JSON.stringify({ padding, text: 'x'.repeat(900) }))
  assert.ok(lifted(body))
  body[body.length - 100] = 0xff
  assert.equal(lifted(body), undefined)
  assert.equal(lifted(Buffer.from(JSON.stringify({ text: 'x'.repeat(900) }))), undefined)
})

test('white space around the colon changes nothing', () => {
  const body = Buffer.from(`{"padding":"${padding}","text" \n:\t "${'x'.repeat(900)}" }`)
  const lift = lifted(body)
  assert.ok(lift)
  assert.equal(lift.lower(Buffer.from(lift.text)).toString(), body.toString())
})
