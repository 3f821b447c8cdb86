import fc from 'fast-check'

/** Marks a member of an object that is written once more under the name before the mark. */
export const doubled = '\u{10ffff}doubled'
/** Marks a text that is written as it is, without quotes: JSON has numbers that no value of JavaScript writes. */
export const bare = '\u{10ffff}bare:'

const nested = (depth: number, isArray: boolean): unknown => {
  let value: unknown = 'deepest'
  for (let level = 0; level < depth; level++) value = isArray ? [value] : { a: value }
  return value
}

/** Texts that parsers, databases, shells, pages and file systems treat specially. */
const texts: readonly string[] = [
  '',
  ' ',
  '\0',
  'a\0b',
  '\ud800',
  'a\udfffb',
  '\u202eabc',
  '\ufeff',
  '\u{10fffd}',
  '👩‍👩‍👧‍👦',
  'e\u0301'.repeat(20),
  'İıſK',
  'a\r\nset-cookie: a=b',
  '\u001b[2J',
  '../../../../etc/passwd',
  '/etc/passwd',
  '..\\..\\x',
  '%2e%2e%2f',
  'file:///etc/passwd',
  'http://10.0.0.1/',
  'http://[::1]:1/',
  'https://user:pass@x.invalid/',
  'javascript:alert(1)',
  "'; drop table agents; --",
  '%',
  '_',
  '\\',
  '{{7*7}}',
  '$' + '{7*7}',
  '<script>alert(1)</script>',
  '__proto__',
  'constructor',
  'toString',
  'hasOwnProperty',
  'NaN',
  'Infinity',
  '-0',
  '1e999',
  '0x10',
  '00012',
  '9007199254740993',
  '99999999999999999999999999',
  'true',
  'null',
  '[]',
  '{}',
  '{session_id}',
  '{foreign_agent_id}',
  '{foreign_session_id}',
  '9999-12-31T23:59:59Z',
  '0000-01-01T00:00:00Z',
  '0001-01-01T00:00:00Z',
  '2026-02-30T00:00:00Z',
  '2026-12-31T23:59:60Z',
  '+275760-09-13T00:00:00.001Z',
  '0s',
  '9999d',
  '999999999999h',
  '* * * * *',
  '@reboot',
  '0 0 31 2 *',
  'Europe/Nowhere',
  'MODE:status400',
  'MODE:status500',
  'MODE:nojson',
  'MODE:early',
  'MODE:late',
]

const numbers: readonly number[] = [
  0,
  -0,
  1,
  -1,
  0.5,
  1e-300,
  1e308,
  -1e308,
  2 ** 31 - 1,
  2 ** 31,
  -(2 ** 31) - 1,
  2 ** 32,
  2 ** 53,
  2 ** 53 + 2,
  2 ** 63,
  1e15,
  1e21,
]

const bareNumbers = ['1e999', '-1e999', '1E400', '-0', '123456789012345678901234567890', '0.1e-400', '1.0']

/** A text for any place. */
export const hostileText: fc.Arbitrary<string> = fc.oneof(
  { weight: 8, arbitrary: fc.constantFrom(...texts) },
  { weight: 2, arbitrary: fc.string({ unit: 'binary', maxLength: 40 }) },
  { weight: 1, arbitrary: fc.constantFrom(300, 5_000, 70_000).map(length => 'x'.repeat(length)) },
)

const otherValues: fc.Arbitrary<unknown> = fc.constantFrom<unknown[]>(
  null,
  true,
  false,
  [],
  {},
  [[]],
  [null],
  [{}],
  { '': '' },
  { __proto__x: 1, constructor: { prototype: { a: 1 } } },
  nested(20, true),
  nested(60, false),
  nested(70, true),
  Array.from({ length: 1_000 }, (_, at) => `item ${at}`),
  Object.fromEntries(Array.from({ length: 300 }, (_, at) => [`member_${at}`, at])),
)

/** A value for any place. */
export const hostileValue: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 4, arbitrary: hostileText },
  { weight: 3, arbitrary: fc.constantFrom(...numbers) },
  { weight: 1, arbitrary: fc.constantFrom(...bareNumbers).map(text => bare + text) },
  { weight: 4, arbitrary: otherValues },
  { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 3 }) },
)

/** Segments of a path, in the bytes of the request line. */
export const hostileSegment: fc.Arbitrary<string> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.constantFrom(
      '..',
      '.',
      '',
      '%',
      '%zz',
      '%00',
      'a%00b',
      '%2f',
      '%2F..%2F',
      '..%2f..%2fetc%2fpasswd',
      '%2e%2e',
      '%252e%252e%252f',
      '%5c..%5c',
      '%ff',
      '%c0%af',
      '%ED%A0%80',
      '%F0%9F%98%80',
      '%0d%0aset-cookie:%20a=b',
      '%20',
      '%27%20or%201=1--',
      '*',
      ';a=b',
      'a;b',
      'a:b',
      'a,b',
      'a@b',
      '{x}',
      'nothing_1',
      '-1',
      '0',
      '1e3',
      'NaN',
      '99999999999999999999',
      '__proto__',
      'constructor',
      'a'.repeat(200),
      'a'.repeat(600),
      'a'.repeat(9_000),
      '%61'.repeat(400),
      '\u00e9',
      'null',
      'undefined',
    ),
  },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 20 }).map(encoded) },
)

/** Returns a text in percent encoding; unpaired surrogates as the bytes that some clients send. */
function encoded(text: string): string {
  return text.isWellFormed() ? encodeURIComponent(text) : '%ED%A0%80'
}
