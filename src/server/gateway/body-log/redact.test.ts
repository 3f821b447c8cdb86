import assert from 'node:assert/strict'
import { test } from 'node:test'
import { wholeEchoes } from '../../platform/echoes.ts'
import { redacted } from './redact.ts'

const credential = 'sk-upstream-credential'
const none = wholeEchoes([])

const cases: readonly (readonly [given: string, kept: string])[] = [
  ['{"api_key":"abc"}', '{"api_key":"[secret]"}'],
  ['{"password": "a\\"b"}', '{"password": "[secret]"}'],
  [
    '{"arguments":"{\\"client_secret\\":\\"abc\\",\\"city\\":\\"Paris\\"}"}',
    '{"arguments":"{\\"client_secret\\":\\"[secret]\\",\\"city\\":\\"Paris\\"}"}',
  ],
  ['{"refresh_token":"cut off', '{"refresh_token":"[secret]'],
  ['{"token":"Hel","max_tokens":5}', '{"token":"Hel","max_tokens":5}'],
  ['my key is sk-0123456789abcdef, ok', 'my key is [secret], ok'],
  ['{"content":"first\\nsk-0123456789abcdef\\tlast"}', '{"content":"first\\n[secret]\\tlast"}'],
  ['{"content":"x\\u000ask-0123456789abcdef"}', '{"content":"x\\u000a[secret]"}'],
  ['{"content":"x\\nBearer abcdef123456"}', '{"content":"x\\n[secret]"}'],
  ['ask-me-anything-about-it', 'ask-me-anything-about-it'],
  ['curl -H "Authorization: Bearer abcdef123456"', 'curl -H "Authorization: [secret]"'],
  ['-----BEGIN PRIVATE KEY-----\\nMIIabc=\\n-----END PRIVATE KEY-----\\nrest', '[secret]\\nrest'],
  ['plain words about a secret', 'plain words about a secret'],
]
for (const [given, kept] of cases)
  test(`${given} is stored as ${kept}`, () => assert.equal(redacted(given, none), kept))

test('credentials of providers are removed in every encoding, also at a truncated end', () => {
  const echoes = wholeEchoes([credential])
  const hex = Buffer.from(credential).toString('hex')
  assert.equal(redacted(`a ${credential} b ${hex}`, echoes), 'a [secret] b [secret]')
  assert.doesNotMatch(redacted(`a ${hex.slice(0, -4)}`, echoes), new RegExp(hex.slice(0, 12)))
})

test('adversarial texts take no longer than others', () => {
  for (const piece of [
    '\\',
    '"token":"',
    '\\"x_token\\":\\"',
    'Bearer ',
    '-----BEGIN A',
    'sk-',
    '\\nsk-',
    '\\u000a',
    '"api_key',
    '"a\\\\"',
  ])
    assert.ok(redacted(piece.repeat(Math.ceil(262_144 / piece.length)), none).length > 0)
})
