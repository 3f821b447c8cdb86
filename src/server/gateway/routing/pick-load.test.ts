import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deploymentAt } from '../../../../test/support/gateway/gateway-app.ts'
import type { Deployment } from '../../config/deployments.ts'
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

test('a deployment is full at its calls per minute, until the next minute', () => {
  const { load, a, pass } = world({ rpm: 2 })
  load.enter(a).leave(0)
  assert.equal(load.isFull(a), false)
  load.enter(a).leave(0)
  assert.equal(load.isFull(a), true)
  pass(60_000)
  assert.equal(load.isFull(a), false)
})

test('a deployment is full at its tokens per minute', () => {
  const { load, a } = world({ tpm: 100 })
  load.enter(a).leave(99)
  assert.equal(load.isFull(a), false)
  load.enter(a).leave(1)
  assert.equal(load.isFull(a), true)
})

test('a deployment is full at its concurrent calls; a call ends once', () => {
  const { load, a, pass } = world({ maxParallel: 2 })
  const first = load.enter(a)
  load.enter(a)
  assert.deepEqual([load.isFull(a), load.inFlightAt(a)], [true, 2])
  pass(60_000)
  assert.equal(load.isFull(a), true)
  first.leave(0)
  first.leave(0)
  assert.deepEqual([load.isFull(a), load.inFlightAt(a)], [false, 1])
})

test('own counts are reported once; counts of others are added but not reported again', () => {
  const { load, a } = world({ rpm: 5 })
  load.enter(a).leave(7)
  load.enter(a).leave(3)
  assert.deepEqual(load.takeReports(), [['a', 2, 10]])
  assert.deepEqual(load.takeReports(), [])
  load.add(a, 3, 0)
  assert.deepEqual([load.isFull(a), load.takeReports()], [true, []])
})

test('deployments without limits per minute report nothing', () => {
  const { load, a } = world({ maxParallel: 9 })
  load.enter(a).leave(5)
  assert.deepEqual([load.takeReports(), load.isFull(a)], [[], false])
})
