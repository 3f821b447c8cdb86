import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deploymentAt } from '../../../../test/support/gateway/gateway-app.ts'
import { createCooldowns } from './cooldowns.ts'

function world() {
  let now = 1_000_000
  const settings = () => ({ failures: 3, windowMs: 60_000, outMs: 30_000 })
  const cooldowns = createCooldowns({ settings, nowMs: () => now })
  const a = deploymentAt('http://a')
  const gate = () => cooldowns.gateOf(a)
  const fail = (cooldownMs?: number) =>
    cooldowns.fail(a, { errorClass: 'http_503', probe: undefined, ...(cooldownMs !== undefined && { cooldownMs }) })
  const pass = (ms: number) => {
    now += ms
  }
  return { cooldowns, a, gate, fail, pass }
}

test('three failures in a minute start a cooldown of 30 s; after it one call may probe', () => {
  const { gate, fail, pass } = world()
  assert.deepEqual([fail(), fail(), gate()], [undefined, undefined, 'open'])
  assert.deepEqual([fail(), gate()], [30_000, 'closed'])
  pass(29_999)
  assert.equal(gate(), 'closed')
  pass(1)
  assert.equal(gate(), 'probe')
})

test('failures outside the window do not count', () => {
  const { gate, fail, pass } = world()
  for (let n = 0; n < 10; n++) {
    assert.equal(fail(), undefined)
    pass(30_001)
  }
  assert.equal(gate(), 'open')
})

test('a cooldown with the upstream’s retry-after starts at once and lasts that long', () => {
  const { gate, fail, pass } = world()
  assert.deepEqual([fail(5_000), gate()], [5_000, 'closed'])
  pass(5_000)
  assert.equal(gate(), 'probe')
})

test('while the probe is in flight no other call passes', () => {
  const { cooldowns, a, gate, fail, pass } = world()
  fail(1_000)
  pass(1_000)
  const probe = cooldowns.startProbe(a)
  assert.equal(gate(), 'closed')
  assert.equal(cooldowns.health(a).state, 'probing')
  probe.passed()
  assert.equal(gate(), 'open')
  probe.abandoned()
  assert.equal(gate(), 'open')
})

test('a failed probe starts the cooldown again', () => {
  const { cooldowns, a, gate, fail, pass } = world()
  fail(1_000)
  pass(1_000)
  const probe = cooldowns.startProbe(a)
  assert.equal(cooldowns.fail(a, { errorClass: 'http_500', probe }), 30_000)
  probe.passed()
  assert.equal(gate(), 'closed')
})

test('after a probe that was aborted the next call is the probe', () => {
  const { cooldowns, a, gate, fail, pass } = world()
  fail(1_000)
  pass(1_000)
  cooldowns.startProbe(a).abandoned()
  assert.equal(gate(), 'probe')
})

test('failures of calls that began before the cooldown change nothing and are not reported', () => {
  const { cooldowns, a, fail } = world()
  fail(10_000)
  assert.deepEqual([fail(), fail(), fail(), fail(10_500)], [undefined, undefined, undefined, undefined])
  assert.equal(cooldowns.health(a).cooldownMs, 10_500)
  assert.equal(fail(20_000), 20_000)
})

test('the report of another process starts a cooldown here and never shortens one', () => {
  const { cooldowns, a, gate, pass } = world()
  cooldowns.adopt(a, 8_000, 'http_429')
  cooldowns.adopt(a, 2_000, 'http_429')
  pass(7_999)
  assert.equal(gate(), 'closed')
})

test('the last error is reported after a recovery', () => {
  const { cooldowns, a, fail, pass } = world()
  fail(1_000)
  const last = { lastError: 'http_503', lastErrorAgoMs: 0 }
  assert.deepEqual(cooldowns.health(a), { state: 'cooling', cooldownMs: 1_000, ...last })
  pass(1_000)
  cooldowns.startProbe(a).passed()
  assert.deepEqual(cooldowns.health(a), { state: 'healthy', cooldownMs: 0, ...last, lastErrorAgoMs: 1_000 })
})

test('an ended cooldown lets calls through at once, and failures before it do not count', () => {
  const { cooldowns, a, fail, gate } = world()
  fail(5_000)
  assert.equal(gate(), 'closed')
  cooldowns.end(a)
  assert.deepEqual([gate(), cooldowns.health(a).state, cooldowns.health(a).lastError], ['open', 'healthy', 'http_503'])
  assert.deepEqual([fail(), fail()], [undefined, undefined])
})

test('a deployment that only records its failures never cools down', () => {
  const { cooldowns, a, gate } = world()
  for (let n = 0; n < 10; n++) cooldowns.note(a, 'http_500')
  assert.deepEqual([gate(), cooldowns.health(a).lastError], ['open', 'http_500'])
})
