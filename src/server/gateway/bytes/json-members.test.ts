import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { keysOf, ownMembers } from './json-members.ts'
import { openText, valueEnd, wordsOf } from './json-scanner.ts'

const names = ['model', 'max_tokens', 'stream']
const keys = keysOf(names)

/** Text of each value that ownMembers finds; undefined when the body is not an object. */
function found(bytes: Buffer) {
  const members = ownMembers(bytes, keys)
  return members && { values: members.values.map(span => span && bytes.toString('utf8', span.start, span.end)) }
}

/** The object that JSON.parse returns; undefined for anything else. */
function parsed(bytes: Buffer): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(bytes.toString('utf8'))
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined
  } catch {
    return undefined
  }
}

function assertAgrees(bytes: Buffer): void {
  const mine = found(bytes)
  const theirs = parsed(bytes)
  assert.equal(mine === undefined, theirs === undefined, bytes.toString('latin1'))
  const values = mine?.values.map(text => (text === undefined ? undefined : (JSON.parse(text) as unknown)))
  assert.deepEqual(
    values,
    theirs && names.map(name => (Object.hasOwn(theirs, name) ? theirs[name] : undefined)),
    bytes.toString('latin1'),
  )
}

const odd = [
  ['', 'no text'],
  ['{', 'no end'],
  ['{}', 'an empty object'],
  [' \t\r\n{ } \n', 'white space around'],
  ['{}{}', 'two objects'],
  ['{} x', 'text after the object'],
  ['\ufeff{}', 'a byte order mark'],
  ['[]', 'an array'],
  ['"{}"', 'a string'],
  ['{"model":}', 'no value'],
  ['{"model"}', 'no colon'],
  ['{"model":1,}', 'a trailing comma'],
  ['{,}', 'a comma alone'],
  ['{"a":[1,]}', 'a trailing comma in an array'],
  ['{"a":[,1]}', 'a comma first in an array'],
  ['{"a":[1}', 'the wrong bracket'],
  ['{"a":{"b":[]}}', 'empty brackets inside'],
  ['{"a":[[[]],{}]}', 'brackets in brackets'],
  ['{"a":1]', 'the wrong last bracket'],
  ["{'model':1}", 'single quotes'],
  ['{model:1}', 'no quotes'],
  ['{"model":01}', 'a leading zero'],
  ['{"model":-}', 'a sign alone'],
  ['{"model":-0.0e+1}', 'all parts of a number'],
  ['{"model":1.}', 'no digit after the point'],
  ['{"model":.5}', 'no digit before the point'],
  ['{"model":1e}', 'no exponent'],
  ['{"model":+1}', 'a plus sign'],
  ['{"model":NaN}', 'NaN'],
  ['{"model":tru}', 'a truncated literal'],
  ['{"model":trueish}', 'a literal with extra letters'],
  ['{"model":true,"stream":null,"max_tokens":false}', 'all literals'],
  ['{"model":"a\tb"}', 'a control character in a string'],
  ['{"model":"a\u007f\u0080\u2028"}', 'other characters in a string'],
  ['{"model":"\\x"}', 'an invalid escape'],
  ['{"model":"\\u12"}', 'half an escape'],
  ['{"model":"\\u12g4"}', 'an escape without digits'],
  ['{"model":"\\ud83d"}', 'half of a pair'],
  ['{"model":"\\"', 'the end inside an escape'],
  ['{"model":"\\u00', 'the end inside a long escape'],
  ['{"mod\\u0065l":7}', 'a key with escapes'],
  ['{"model":1,"model":2}', 'a key twice'],
  ['{"a":{"model":1},"b":["model"],"c":"model"}', 'keys elsewhere'],
] as const

for (const [text, name] of odd) test(`agrees with JSON.parse on ${name}`, () => assertAgrees(Buffer.from(text)))

test('bytes that are not UTF-8 are accepted where JSON.parse accepts them', () => {
  for (const place of [9, 10, 11, 12, 13]) {
    for (const byte of [0x80, 0xc3, 0xe2, 0xf0, 0xff]) {
      const bytes = Buffer.from('{"model":"abc"}')
      bytes[place] = byte
      assertAgrees(bytes)
    }
  }
})

test('agrees with JSON.parse on any JSON and any change to it, at any memory offset', () => {
  const piece = fc.constantFrom(...'{}[]:,"\\/ \n\t\u0000\u001f0127.eE+-tfnu\u00e9x', 'model', '\\u0061', '\\n')
  const broken = fc.option(fc.record({ at: fc.nat(), drop: fc.nat(3), put: piece }), { nil: undefined })
  fc.assert(
    fc.property(fc.json({ maxDepth: 5 }), fc.jsonValue(), broken, fc.nat(9), (json, model, change, offset) => {
      const text = `{"x":${json},"model":${JSON.stringify(model)}, "max\\u005ftokens" :[${json} ] ,"y":${json}}`
      const at = change ? change.at % (text.length + 1) : 0
      const changed = change ? text.slice(0, at) + change.put + text.slice(at + change.drop) : text
      assertAgrees(Buffer.from(`${'"'.repeat(offset)}${changed}`).subarray(offset))
    }),
    { numRuns: 3_000 },
  )
})

test('agrees with JSON.parse on strings of quotes, escapes and control characters of any length', () => {
  const unit = fc.constantFrom(
    'a',
    'é',
    '😀',
    '\\"',
    '\\\\',
    '\\u0061',
    '\\',
    '"',
    '\u0001',
    '\u001f',
    ' ',
    '!',
    '#',
    '[',
    ']',
  )
  fc.assert(
    fc.property(fc.array(unit, { maxLength: 40 }), units => assertAgrees(Buffer.from(`{"model":"${units.join('')}"}`))),
    { numRuns: 3_000 },
  )
})

test('agrees with JSON.parse on long strings full of escapes, with a changed byte or a truncated end', () => {
  const unit = fc.constantFrom(
    'a',
    'some text',
    'é',
    '\\"',
    '\\\\',
    '\\/',
    '\\n',
    '\\t',
    '\\b',
    '\\f',
    '\\r',
    '\\u00e9',
    '\\uD83D',
  )
  const change = fc.option(fc.tuple(fc.nat(), fc.constantFrom(...Buffer.from('\\"u0xG\n\u007f'))))
  const cut = fc.option(fc.nat(20))
  fc.assert(
    fc.property(fc.array(unit, { maxLength: 150, size: 'max' }), change, cut, (units, changed, left) => {
      const body = Buffer.from(`{"model":"${units.join('')}"}`)
      if (changed) body[changed[0] % body.length] = changed[1]
      assertAgrees(left === null ? body : body.subarray(0, body.length - left))
    }),
    { numRuns: 5_000 },
  )
})

test('bytes of a longer previous text are ignored', () => {
  assertAgrees(Buffer.from(`{"model":"${'x'.repeat(90)}"}`))
  for (let length = 9; length < 100; length++)
    assertAgrees(Buffer.from(`{"model":"${'x'.repeat(90)}"}`).subarray(0, length))
})

const places = [
  ['first', '{"model":"a","messages":[]}', '"a"'],
  ['last, with white space', '{ "messages" : [ ] ,\r\n\t"model" :\n "a" }', '"a"'],
  ['after an object with the same key', '{"metadata":{"model":"no"},"model":"yes"}', '"yes"'],
  ['after a value equal to the key', '{"x":"model","model":"yes"}', '"yes"'],
  ['after a string that looks like the member', '{"x":"\\"model\\":\\"no\\"","model":"yes"}', '"yes"'],
  ['spelled with escapes', '{"m\\u006fdel":"yes"}', '"yes"'],
  ['with quotes inside', '{"model":"a\\"b\\\\"}', '"a\\"b\\\\"'],
  ['missing', '{"messages":[{"model":"no"}]}', undefined],
  ['not a string', '{"model": 5 }', '5'],
] as const

for (const [name, text, expected] of places) {
  test(`finds the value of a key: ${name}`, () => assert.equal(found(Buffer.from(text))?.values[0], expected))
}

test('every duplicate key is reported, with or without escapes', () => {
  const duplicatesOf = (text: string) => ownMembers(Buffer.from(text), keys)?.duplicates
  assert.deepEqual(duplicatesOf('{"model":1,"stream":2}'), [])
  assert.deepEqual(duplicatesOf('{"stream":1,"str\\u0065am":2,"model":3,"\\u006d\\u006f\\u0064\\u0065\\u006c":4}'), [
    'stream',
    'model',
  ])
  assert.deepEqual(duplicatesOf('{"model":1,"a":{"model":2},"MODEL":3,"model ":4}'), [])
})

test('a body of brackets only is scanned without recursion', () => {
  const depth = 1_000_000
  const text = (inside: string) => Buffer.from(`{"a":${'['.repeat(depth)}${inside}${']'.repeat(depth)},"model":7}`)
  assert.deepEqual(found(text(''))?.values, ['7', undefined, undefined])
  assert.equal(found(text(',')), undefined)
})

const watched = wordsOf([
  { text: 'image', bit: 1 },
  { text: 'thinking', bit: 2, isValue: true },
  { text: 'computer_screenshot', bit: 4 },
])
const bitsOf = (text: string) => ownMembers(Buffer.from(text), keys, watched)?.foundWords

const withWords = [
  ['a value at the top', '{"model":"image"}', 1],
  ['a key at the top', '{"image":1}', 1],
  ['a nested value', '{"a":[{"b":["image"]}]}', 1],
  ['a nested key', '{"a":[{"image":null}]}', 1],
  ['a part of a string', '{"model":"images","a":"an image"}', 0],
  ['a quoted word inside a string', '{"model":"\\"image\\""}', 0],
  ['a value-only word as a value', '{"a":{"type":"thinking"}}', 2],
  ['a value-only word as a key', '{"thinking":{"thinking":1}}', 0],
  ['a word of more than 16 characters', '{"type":"computer_screenshot"}', 4],
  ['several', '{"a":["thinking","image",{"computer_screenshot":"x"}]}', 7],
] as const

for (const [name, text, bits] of withWords) {
  test(`watched words: ${name}`, () => assert.equal(bitsOf(text), bits))
}

test('an escaped letter is reported, other escapes are not', () => {
  const has = (text: string) => ownMembers(Buffer.from(text), keys, watched)?.hasEscapedLetter
  assert.deepEqual(
    ['{"a":"\\u0069mage"}', '{"\\u0041":1}', '{"a":"\\u00e9\\u001f\\u2028"}', '{"a":"\\\\u0069"}', '{"a":"i"}'].map(
      has,
    ),
    [true, true, false, false, false],
  )
})

test('counts of one text do not include those of a text that is scanned in between', () => {
  const text = openText(Buffer.from('{"a":"image"}'), watched)
  assert.equal(valueEnd(text, 0), 13)
  const other = openText(Buffer.from('["b"]'), watched)
  assert.equal(valueEnd(other, 0), 5)
  assert.equal(valueEnd(text, 5), 12)
  assert.deepEqual([text.foundWords, other.foundWords, text.values, other.values], [1, 0, 2, 1])
})
