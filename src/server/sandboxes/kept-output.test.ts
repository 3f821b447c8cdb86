import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { keptOutput } from './kept-output.ts'

test('output within the limit is kept as it is; of a longer one the first and the last half, in any chunks', () => {
  const chunks = fc.array(fc.stringMatching(/^[a-z]{0,30}$/), { maxLength: 30 })
  fc.assert(
    fc.property(chunks, fc.integer({ min: 2, max: 200 }), (parts, limit) => {
      const whole = parts.join('')
      const output = keptOutput(limit)
      for (const part of parts) output.add(Buffer.from(part))
      assert.equal(output.bytes, whole.length)
      assert.equal(output.truncated, whole.length > limit)
      if (whole.length <= limit) return assert.equal(output.text(), whole)
      const half = Math.floor(limit / 2)
      const dropped = `\n[... ${whole.length - limit} bytes of output dropped ...]\n`
      assert.equal(output.text(), `${whole.slice(0, half)}${dropped}${whole.slice(half - limit)}`)
    }),
  )
})
