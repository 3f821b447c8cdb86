import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Component, createLifecycle } from './lifecycle.ts'

const named = (name: string, steps: string[], more: Component = {}): Component => ({
  start: () => void steps.push(`start ${name}`),
  stop: async () => void steps.push(`stop ${name}`),
  ...more,
})

function lifecycleOf(components: readonly Component[], runsSessions = true) {
  const errors: unknown[] = []
  const log = { error: ({ err }: { err: unknown }) => void errors.push(err) }
  return { errors, ...createLifecycle(components, { runsSessions, log: log as never }) }
}

test('components start in order, drain together and stop in reverse order', async () => {
  const steps: string[] = []
  const { promise, resolve } = Promise.withResolvers<void>()
  const slow = named('slow', steps, { drain: () => promise.then(() => void steps.push('drained slow')) })
  const quick = named('quick', steps, {
    drain(graceMs) {
      steps.push(`drained quick in ${graceMs}`)
      resolve()
    },
  })
  const { start, stop } = lifecycleOf([slow, named('plain', steps), quick])
  await start()
  await stop(50)
  assert.deepEqual(steps, [
    'start slow',
    'start plain',
    'start quick',
    'drained quick in 50',
    'drained slow',
    'stop quick',
    'stop plain',
    'stop slow',
  ])
})

test('a process without sessions does not start the components that are for them, and stops all', async () => {
  const steps: string[] = []
  const { start, stop } = lifecycleOf([named('a', steps), named('b', steps, { isForSessions: true })], false)
  await start()
  await stop(0)
  assert.deepEqual(steps, ['start a', 'stop b', 'stop a'])
})

test('start rejects with the first error and starts no further component', async () => {
  const steps: string[] = []
  const failing: Component = { start: () => Promise.reject(new Error('no port')) }
  const { start } = lifecycleOf([named('a', steps), failing, named('b', steps)])
  await assert.rejects(start(), /no port/)
  assert.deepEqual(steps, ['start a'])
})

test('errors while draining and stopping are logged, and the other components stop', async () => {
  const steps: string[] = []
  const failing: Component = {
    drain: () => Promise.reject(new Error('no drain')),
    stop: () => {
      throw new Error('no stop')
    },
  }
  const { stop, errors } = lifecycleOf([named('a', steps), failing, named('b', steps)])
  await stop(0)
  assert.deepEqual(steps, ['stop b', 'stop a'])
  assert.deepEqual(errors.map(String), ['Error: no drain', 'Error: no stop'])
})
