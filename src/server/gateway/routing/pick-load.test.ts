import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deploymentAt } from '../../../../test/support/gateway-app.ts'
import type { Deployment } from '../../config/config.ts'
import { createLoad } from './pick.ts'

function world(limits: Partial<Deployment>) {
  let now = 0
  const load = createLoad(() => now)
  const a = deploymentAt('http://a', { id: 'a', ...limits })
  return {
    load,
    a,
    pass: (ms: number) => {
      now += ms
    },
  }
}

test('a deployment is full at its calls a minute, until the next minute', () => {
  const { load, a, pass } = world({ rpm: 2 })
  load.enter(a).leave(0)
  assert.equal(load.isFull(a), false)
  load.enter(a).leave(0)
  assert.equal(load.isFull(a), true)
  pass(60_000)
  assert.equal(load.isFull(a), false)
})

test('a deployment is full at its tokens a minute', () => {
  const { load, a } = world({ tpm: 100 })
  load.enter(a).leave(99)
  assert.equal(load.isFull(a), false)
  load.enter(a).leave(1)
  assert.equal(load.isFull(a), true)
})

test('a deployment is full at its calls at a time; a call counts out once', () => {
  const { load, a, pass } = world({ maxParallel: 2 })
  const first = load.enter(a)
  load.enter(a)
  assert.deepEqual([load.isFull(a), load.callsAt(a)], [true, 2])
  pass(60_000)
  assert.equal(load.isFull(a), true)
  first.leave(0)
  first.leave(0)
  assert.deepEqual([load.isFull(a), load.callsAt(a)], [false, 1])
})

test('what is counted here is told once, and what others tell is counted but not told again', () => {
  const { load, a } = world({ rpm: 5 })
  load.enter(a).leave(7)
  load.enter(a).leave(3)
  assert.deepEqual(load.takeNews(), [['a', 2, 10]])
  assert.deepEqual(load.takeNews(), [])
  load.add(a, 3, 0)
  assert.deepEqual([load.isFull(a), load.takeNews()], [true, []])
})

test('deployments without limits a minute have nothing to tell', () => {
  const { load, a } = world({ maxParallel: 9 })
  load.enter(a).leave(5)
  assert.deepEqual([load.takeNews(), load.isFull(a)], [[], false])
})
