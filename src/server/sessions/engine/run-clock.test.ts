import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startRunClock } from './run-clock.ts'

test('a clock includes the time of previous runs and excludes waiting time', t => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  let now = 0
  t.mock.method(performance, 'now', () => now)
  const pass = (ms: number) => {
    now += ms
    t.mock.timers.tick(ms)
  }
  const clock = startRunClock({ limitSeconds: 2, ranMs: 500 })
  pass(1_000)
  clock.pause()
  pass(60_000)
  assert.deepEqual([clock.ranMs(), clock.signal.aborted], [1_500, false])
  clock.resume()
  pass(499)
  assert.equal(clock.signal.aborted, false)
  pass(1)
  assert.equal(clock.signal.aborted, true)
})

test('a clock without a limit, or one that has ended, never aborts', t => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const endless = startRunClock({ limitSeconds: 0, ranMs: 0 })
  const ended = startRunClock({ limitSeconds: 1, ranMs: 0 })
  ended.end()
  t.mock.timers.tick(10_000)
  assert.deepEqual([endless.signal.aborted, ended.signal.aborted], [false, false])
})
