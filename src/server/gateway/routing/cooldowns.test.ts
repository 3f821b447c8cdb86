import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deploymentAt } from '../../../../test/support/gateway-app.ts'
import { createCooldowns } from './cooldowns.ts'

function world() {
  let now = 1_000_000
  const settings = () => ({ failures: 3, windowMs: 60_000, outMs: 30_000 })
  const cooldowns = createCooldowns({ settings, nowMs: () => now })
  const a = deploymentAt('http://a')
  const gate = () => cooldowns.gateOf(a)
  const fail = (restMs?: number) =>
    cooldowns.fail(a, { errorClass: 'http_503', probe: undefined, ...(restMs !== undefined && { restMs }) })
  const pass = (ms: number) => {
    now += ms
  }
  return { cooldowns, a, gate, fail, pass }
}

test('three failures in a minute put a deployment out for 30 s; then one call may try it', () => {
  const { gate, fail, pass } = world()
  assert.deepEqual([fail(), fail(), gate()], [undefined, undefined, 'open'])
  assert.deepEqual([fail(), gate()], [30_000, 'shut'])
  pass(29_999)
  assert.equal(gate(), 'shut')
  pass(1)
  assert.equal(gate(), 'probe')
})

test('failures that lie further apart than the window do not add up', () => {
  const { gate, fail, pass } = world()
  for (let n = 0; n < 10; n++) {
    assert.equal(fail(), undefined)
    pass(30_001)
  }
  assert.equal(gate(), 'open')
})

test('a rest that the upstream names begins at once and lasts that long', () => {
  const { gate, fail, pass } = world()
  assert.deepEqual([fail(5_000), gate()], [5_000, 'shut'])
  pass(5_000)
  assert.equal(gate(), 'probe')
})

test('while the probe is at work nobody else comes through', () => {
  const { cooldowns, a, gate, fail, pass } = world()
  fail(1_000)
  pass(1_000)
  const probe = cooldowns.startProbe(a)
  assert.equal(gate(), 'shut')
  assert.equal(cooldowns.health(a).state, 'probing')
  probe.passed()
  assert.equal(gate(), 'open')
  probe.left()
  assert.equal(gate(), 'open')
})

test('a probe that fails is one failure too many', () => {
  const { cooldowns, a, gate, fail, pass } = world()
  fail(1_000)
  pass(1_000)
  const probe = cooldowns.startProbe(a)
  assert.equal(cooldowns.fail(a, { errorClass: 'http_500', probe }), 30_000)
  probe.passed()
  assert.equal(gate(), 'shut')
})

test('a probe whose caller leaves says nothing: the next call is the probe', () => {
  const { cooldowns, a, gate, fail, pass } = world()
  fail(1_000)
  pass(1_000)
  cooldowns.startProbe(a).left()
  assert.equal(gate(), 'probe')
})

test('calls that were at work when the rest began change nothing, and are not news', () => {
  const { cooldowns, a, fail } = world()
  fail(10_000)
  assert.deepEqual([fail(), fail(), fail(), fail(10_500)], [undefined, undefined, undefined, undefined])
  assert.equal(cooldowns.health(a).restMs, 10_500)
  assert.equal(fail(20_000), 20_000)
})

test('what another process tells puts a deployment out here too, and never shortens its rest', () => {
  const { cooldowns, a, gate, pass } = world()
  cooldowns.follow(a, 8_000, 'http_429')
  cooldowns.follow(a, 2_000, 'http_429')
  pass(7_999)
  assert.equal(gate(), 'shut')
})

test('the last error stays readable after a recovery', () => {
  const { cooldowns, a, fail, pass } = world()
  fail(1_000)
  assert.deepEqual(cooldowns.health(a), { state: 'cooling', restMs: 1_000, lastError: 'http_503' })
  pass(1_000)
  cooldowns.startProbe(a).passed()
  assert.deepEqual(cooldowns.health(a), { state: 'healthy', restMs: 0, lastError: 'http_503' })
})

test('a deployment that only notes its failures never rests', () => {
  const { cooldowns, a, gate } = world()
  for (let n = 0; n < 10; n++) cooldowns.note(a, 'http_500')
  assert.deepEqual([gate(), cooldowns.health(a).lastError], ['open', 'http_500'])
})
