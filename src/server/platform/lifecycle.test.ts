import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLifecycle, type Part } from './lifecycle.ts'

/** A lifecycle of `parts` that records the calls and the warnings. */
function stage({ parts = ['a', 'b', 'c'], fails = [] as readonly string[], runsSessions = true } = {}) {
  const calls: string[] = []
  const warnings: unknown[] = []
  const call = async (step: string) => {
    calls.push(step)
    await new Promise(setImmediate)
    calls.push(`${step} ended`)
    if (fails.includes(step)) throw new Error(step)
  }
  const made = parts.map(
    (name): Part => ({
      name,
      isSessionWork: name.startsWith('session'),
      start: () => call(`start ${name}`),
      drain: graceMs => call(`drain ${name} ${graceMs}`),
      stop: () => call(`stop ${name}`),
    }),
  )
  const log = { warn: ({ part }: { part: string }) => void warnings.push(part) }
  const lifecycle = createLifecycle({ parts: made, runsSessions, log: log as never })
  const of = (step: string) => calls.filter(name => name.startsWith(step) && !name.endsWith('ended'))
  return { ...lifecycle, calls, warnings, of }
}

test('parts start in order, one after another', async () => {
  const { start, calls } = stage({ parts: ['a', 'b'] })
  await start()
  assert.deepEqual(calls, ['start a', 'start a ended', 'start b', 'start b ended'])
})

test('parts drain at the same time, then stop in reverse order, one after another', async () => {
  const { start, stop, calls } = stage({ parts: ['a', 'b'] })
  await start()
  calls.length = 0
  await stop(20)
  assert.deepEqual(calls.slice(0, 4), ['drain b 20', 'drain a 20', 'drain b 20 ended', 'drain a 20 ended'])
  assert.deepEqual(calls.slice(4), ['stop b', 'stop b ended', 'stop a', 'stop a ended'])
})

test('a process that runs no sessions does not start their work, but stops it', async () => {
  const { start, stop, of } = stage({ parts: ['a', 'session b', 'c'], runsSessions: false })
  await start()
  await stop(0)
  assert.deepEqual(of('start'), ['start a', 'start c'])
  assert.deepEqual(of('stop'), ['stop c', 'stop session b', 'stop a'])
})

test('a failed start starts no further part, stops all, and rejects with the error', async () => {
  const { start, of, warnings } = stage({ fails: ['start b'] })
  await assert.rejects(start(), new Error('start b'))
  assert.deepEqual(of('start'), ['start a', 'start b'])
  assert.deepEqual(of('drain'), ['drain c 0', 'drain b 0', 'drain a 0'])
  assert.deepEqual(of('stop'), ['stop c', 'stop b', 'stop a'])
  assert.deepEqual(warnings, [])
})

test('failures to drain and to stop are logged, and the other parts stop', async () => {
  const { start, stop, of, warnings } = stage({ fails: ['drain c 5', 'stop c', 'stop b'] })
  await start()
  await stop(5)
  assert.deepEqual(of('stop'), ['stop c', 'stop b', 'stop a'])
  assert.deepEqual(warnings, ['c', 'c', 'b'])
})

test('a failed start reports its own error when a stop fails as well', async () => {
  const { start, warnings } = stage({ fails: ['start b', 'stop a'] })
  await assert.rejects(start(), new Error('start b'))
  assert.deepEqual(warnings, ['a'])
})

test('parts stop once, and every caller waits for that', async () => {
  const { start, stop, of, calls } = stage()
  await start()
  await Promise.all([stop(1), stop(0)])
  await stop(0)
  assert.equal(of('stop').length, 3)
  assert.equal(calls.at(-1), 'stop a ended')
})

test('a part that throws at once stops no other', async () => {
  const stopped: string[] = []
  const parts: Part[] = [
    { name: 'a', stop: () => void stopped.push('a') },
    {
      name: 'b',
      stop() {
        throw new Error('b')
      },
    },
    { name: 'c' },
  ]
  await createLifecycle({ parts, runsSessions: true, log: { warn: () => {} } }).stop(0)
  assert.deepEqual(stopped, ['a'])
})
