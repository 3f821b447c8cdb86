import assert from 'node:assert/strict'
import { test } from 'node:test'
import { restartDelayMs } from './restart-delay.ts'

test('a process that ran for 10 s is replaced at once', () => {
  assert.equal(restartDelayMs({ livedMs: 10_000, earlyExits: 0 }), 0)
  assert.equal(restartDelayMs({ livedMs: 86_400_000, earlyExits: 7 }), 0)
})

test('processes that exit early in a row are replaced after growing delays of at most 30 s', () => {
  const delays = [0, 1, 2, 3, 6, 60].map(earlyExits => restartDelayMs({ livedMs: 200, earlyExits }))
  assert.deepEqual(delays, [500, 1_000, 2_000, 4_000, 30_000, 30_000])
})
