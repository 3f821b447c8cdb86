import assert from 'node:assert/strict'
import { test } from 'node:test'
import { restartDelayMs } from './restart-delay.ts'

test('a process that has worked is replaced at once', () => {
  assert.equal(restartDelayMs({ livedMs: 10_000, earlyEnds: 0 }), 0)
  assert.equal(restartDelayMs({ livedMs: 86_400_000, earlyEnds: 7 }), 0)
})

test('processes that end early, one after the other, are replaced after growing pauses of at most 30 s', () => {
  const delays = [0, 1, 2, 3, 6, 60].map(earlyEnds => restartDelayMs({ livedMs: 200, earlyEnds }))
  assert.deepEqual(delays, [500, 1_000, 2_000, 4_000, 30_000, 30_000])
})
