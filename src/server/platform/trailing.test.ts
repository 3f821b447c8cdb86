import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { processorMs } from '../../../test/support/service/processor-time.ts'
import { withoutTrailing } from './trailing.ts'

test('only the repeated character at the end is removed', () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom('/', 'a', '.') }), text => {
      assert.equal(withoutTrailing(text, '/'), text.replace(/\/+$/, ''))
    }),
  )
})

test('H4: long runs of the character before the end take linear time', () => {
  const text = `${'/'.repeat(200_000)}x`
  // A regular expression takes over 10 s.
  assert.ok(processorMs(() => withoutTrailing(text, '/')) < 1_000)
})
