import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { hidden, masked } from './mask.ts'

const secrets = fc.string({ unit: 'grapheme-ascii', minLength: 1, maxLength: 100 })

test('S14: of a secret of any length at most the last four characters are shown, and at most a quarter', () => {
  fc.assert(
    fc.property(secrets, secret => {
      const text = masked(secret)
      assert.ok(text.startsWith(hidden))
      const shown = text.slice(hidden.length)
      assert.ok(secret.endsWith(shown))
      assert.ok(shown.length <= 4)
      assert.ok(shown.length <= secret.length / 4)
    }),
    { numRuns: 2_000 },
  )
})

test('S14: for every length from 1 to 100 short secrets are hidden as a whole, longer ones show four characters', () => {
  for (let length = 1; length <= 100; length++) {
    const secret = Array.from({ length }, (_, at) => String.fromCharCode(97 + (at % 26))).join('')
    assert.equal(masked(secret), length < 16 ? hidden : `${hidden}${secret.slice(-4)}`)
  }
})
