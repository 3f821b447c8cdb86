import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { boundedOutput } from './bounded-output.ts'

test('output within the limit is retained unchanged; of longer output the first and last half, for any chunks', () => {
  const chunks = fc.array(fc.stringMatching(/^[a-z]{0,30}$/), { maxLength: 30 })
  fc.assert(
    fc.property(chunks, fc.integer({ min: 2, max: 200 }), (parts, limit) => {
      const whole = parts.join('')
      const output = boundedOutput(limit)
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
