import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { backoffMs } from './retryable.ts'

for (const [waits, maxMs] of [
  [0, 500],
  [1, 1_000],
  [2, 2_000],
  [4, 8_000],
  [9, 8_000],
] as const) {
  test(`wait ${waits + 1} is drawn from 0 to ${maxMs} ms`, () => {
    assert.equal(
      backoffMs(waits, () => 0),
      0,
    )
    fc.assert(
      fc.property(fc.double({ min: 0, max: 1, noNaN: true }), draw => backoffMs(waits, () => draw) === draw * maxMs),
    )
  })
}
