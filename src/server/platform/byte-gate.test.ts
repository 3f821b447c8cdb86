import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ByteGate } from './byte-gate.ts'

const never = new AbortController().signal

/** Work that ends on demand. */
function held(gate: ByteGate, bytes: number, signal = never) {
  const end = Promise.withResolvers<void>()
  let hasStarted = false
  const over = gate.run(bytes, signal, async () => {
    hasStarted = true
    await end.promise
  })
  return { over, end: end.resolve, hasStarted: () => hasStarted }
}

test('H7: work waits in FIFO order, and small work does not overtake large work', async () => {
  const gate = new ByteGate(100)
  const [first, second, large, small] = [held(gate, 60), held(gate, 40), held(gate, 500), held(gate, 1)]
  await Promise.resolve()
  assert.deepEqual(
    [first, second, large, small].map(each => each.hasStarted()),
    [true, true, false, false],
  )
  assert.equal(gate.usedBytes, 100)
  for (const each of [first, second]) each.end()
  await Promise.all([first.over, second.over])
  assert.deepEqual([large.hasStarted(), small.hasStarted(), gate.usedBytes], [true, false, 100])
  large.end()
  small.end()
  await Promise.all([large.over, small.over])
  assert.equal(gate.usedBytes, 0)
})

test('H7: an abort ends the wait and starts the next work, and a failure frees its bytes', async () => {
  const gate = new ByteGate(100)
  const stop = new AbortController()
  const first = held(gate, 50)
  const left = held(gate, 100, stop.signal)
  const next = held(gate, 50)
  stop.abort(new Error('stopped'))
  await assert.rejects(left.over, /stopped/)
  await Promise.resolve()
  assert.deepEqual([left.hasStarted(), next.hasStarted()], [false, true])
  for (const each of [first, next]) each.end()
  await Promise.all([first.over, next.over])
  await assert.rejects(
    gate.run(100, never, () => Promise.reject(new Error('broken'))),
    /broken/,
  )
  await assert.rejects(
    gate.run(1, stop.signal, async () => {}),
    /stopped/,
  )
  assert.equal(gate.usedBytes, 0)
})
