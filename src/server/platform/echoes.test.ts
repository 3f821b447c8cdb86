import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { withoutEchoes } from './echoes.ts'

const secret = 'sk-Canary+0123/456789?abcdefgh'
const bytes = Buffer.from(secret)
const forms = [
  ['plain', secret],
  ['in capitals', secret.toUpperCase()],
  ['in base64', bytes.toString('base64')],
  ['in base64url', bytes.toString('base64url')],
  ['in hex', bytes.toString('hex')],
  ['percent-encoded', encodeURIComponent(secret)],
  ['its first half', secret.slice(0, 15)],
  ['its second half', secret.slice(15)],
] as const

for (const [name, form] of forms) {
  test(`a secret that is repeated ${name} is omitted`, () => {
    const text = withoutEchoes(`wrong key ${form}, try again`, [secret])
    for (let at = 0; at + 6 <= form.length; at++) assert.ok(!text.includes(form.slice(at, at + 6)), text)
    assert.match(text, /^wrong key .{0,5}\[secret\].{0,5}, try again$/)
  })
}

test('of a header in base64 only the scheme is left', () => {
  for (const scheme of ['Bearer', 'Basic', 'Key', 'Token']) {
    const text = withoutEchoes(Buffer.from(`${scheme} ${secret}`).toString('base64'), [secret])
    assert.match(text, /\[secret\]/)
    const left = text.split('[secret]').map(part => Buffer.from(part, 'base64').toString())
    assert.ok(left.join(' ').startsWith(scheme), text)
    assert.ok(
      left.every(part => part.length < scheme.length + 5),
      text,
    )
  }
})

test('no six characters of a secret are left, whatever stands around them', () => {
  const words = fc.string({ maxLength: 20 })
  fc.assert(
    fc.property(fc.string({ minLength: 6, maxLength: 40 }), words, words, (key, before, after) => {
      const text = withoutEchoes(before + key + after, [key]).toLowerCase()
      const pieces = Array.from({ length: key.length - 5 }, (_, at) => key.slice(at, at + 6).toLowerCase())
      // The mark itself may happen to hold a piece.
      const rest = text.replaceAll('[secret]', '\n\n\n\n\n\n\n')
      assert.ok(pieces.every(piece => piece.includes('\n') || !rest.includes(piece)))
    }),
  )
})

test('a short secret is omitted as a whole, and other text stays as it is', () => {
  assert.equal(withoutEchoes('key abc is wrong', ['abc']), 'key [secret] is wrong')
  assert.equal(withoutEchoes('model İ not found', [secret]), 'model İ not found')
  assert.equal(withoutEchoes('anything', ['', secret]), 'anything')
})
