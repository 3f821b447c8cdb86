import assert from 'node:assert/strict'
import { test } from 'node:test'
import { redacted } from '../gateway/body-log/redact.ts'
import { wholeEchoes } from '../platform/echoes.ts'
import { secretIn, withoutSecrets } from './secret-screen.ts'

const credential = 'provider-credential-0123456789'
const redact = (text: string) => redacted(text, wholeEchoes([credential]))
const base64 = (text: string) => Buffer.from(text).toString('base64')
const plain = {
  name: 'Refund',
  prompts: ['Explain basic auth', 'again'],
  files: [
    { name: 'a.txt', data: base64('some text') },
    { name: 'a.png', data: Buffer.from([137, 80, 255, 0]).toString('base64') },
  ],
  graders: [{ type: 'contains', value: 'token' }],
  metadata: { team: 'blue' },
  recorded: [{ name: 'bash', input: { command: 'ls' }, content: [{ type: 'text', text: 'ok' }], is_error: false }],
} as const

test('a case without secrets stays as it is', () => {
  assert.equal(secretIn(plain, redact), undefined)
  assert.deepEqual(withoutSecrets(plain, redact), plain)
})

const key = 'sk-0123456789abcdefghij'
const leaks = [
  ['prompts[1]', { prompts: ['fine', `use ${key}`] }],
  ['prompts[0]', { prompts: [`the provider says ${credential}`] }],
  ['files[0]', { files: [{ name: 'a.txt', data: base64('Authorization: Bearer abcdefgh12345678') }] }],
  ['graders[0]', { graders: [{ type: 'contains', value: key }] }],
  ['metadata', { metadata: { password: key } }],
  ['recorded[0]', { recorded: [{ ...plain.recorded[0], input: { password: 'hunter2' } }] }],
] as const

for (const [place, leak] of leaks) {
  test(`a secret in ${place} is found, and replaced on request`, () => {
    const given = { ...plain, ...leak }
    assert.equal(secretIn(given, redact), place)
    const after = withoutSecrets(given, redact)
    assert.equal(secretIn(after, redact), undefined)
    for (const secret of [key, credential, 'hunter2']) assert.ok(!JSON.stringify(after).includes(secret))
  })
}
