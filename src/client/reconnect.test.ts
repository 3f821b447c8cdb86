import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { defaultPace, reconnectDelayMs } from './reconnect.ts'

test('the first retry is fast, and later delays grow up to the maximum and its jitter', () => {
  const at = (failures: number) => reconnectDelayMs(defaultPace, { failures, chance: 0.5 })
  assert.deepEqual([1, 2, 3, 4, 5, 6, 7, 99].map(at), [125, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000])
})

test('the delay is never below Retry-After and has jitter', () => {
  const chance = fc.double({ min: 0, max: 1, noNaN: true })
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 1_000 }), chance, fc.nat(600_000), (failures, share, retryAfterMs) => {
      const delay = reconnectDelayMs(defaultPace, { failures, chance: share, retryAfterMs })
      assert.ok(delay >= retryAfterMs)
      assert.ok(delay <= Math.max(retryAfterMs, defaultPace.maxMs * 1.25))
    }),
  )
})
