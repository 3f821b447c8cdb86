import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { capText } from './cap-text.ts'

test('a long text keeps its head and tail, states how much was cut, and never splits a character', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', maxLength: 300 }), fc.integer({ min: 4, max: 100 }), (text, limit) => {
      const capped = capText(text, limit)
      assert(!text.isWellFormed() || capped.isWellFormed())
      if (text.length <= limit) return assert.equal(capped, text)
      const [head = '', cut = '', tail = ''] = capped.split(/\n\[\.\.\. (\d+) characters cut out \.\.\.\]\n/)
      assert(text.startsWith(head))
      assert(text.endsWith(tail))
      assert.equal(head.length + Number(cut) + tail.length, text.length)
      assert(head.length + tail.length <= limit)
    }),
  )
})
