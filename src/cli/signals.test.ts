import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createStopSignals } from './signals.ts'

test('one Ctrl-C that arrives several times counts once, and a later one quits', () => {
  let nowMs = 10_000
  let quits = 0
  const signals = createStopSignals({ quit: () => quits++, nowMs: () => nowMs })
  assert.equal(signals.stop.aborted, false)
  for (const atMs of [10_000, 10_003, 10_400]) {
    nowMs = atMs
    signals.onSignal('SIGINT')
  }
  assert.equal(signals.stop.aborted, true)
  assert.equal(quits, 0)
  nowMs = 11_000
  signals.onSignal('SIGINT')
  assert.equal(quits, 1)
})

test('F3: a second SIGTERM within 500 ms quits, and the immediate copy of a launcher does not', () => {
  let nowMs = 10_000
  let quits = 0
  const signals = createStopSignals({ quit: () => quits++, nowMs: () => nowMs })
  signals.onSignal('SIGTERM')
  nowMs += 5
  signals.onSignal('SIGTERM')
  assert.equal(quits, 0)
  nowMs += 200
  signals.onSignal('SIGTERM')
  assert.equal(quits, 1)
})
