import assert from 'node:assert/strict'
import { readdir, rename, writeFile } from 'node:fs/promises'
import { test } from 'node:test'
import { type KubernetesRig, newRig } from '../../../../test/support/kubernetes/driver-rig.ts'
import { eventually } from '../../../../test/support/service/eventually.ts'
import { lack } from '../../../../test/support/service/lack.ts'
import { pause } from '../../platform/timers.ts'
import { isRunning, longSleep } from '../sandboxes-for-tests.ts'

const when = { skip: lack('bubblewrap') }

for (const [name, end, expected] of [
  ['out of memory', { containerReason: 'OOMKilled' }, /OOMKilled/],
  [
    'evicted',
    { reason: 'Evicted', message: 'node is low on memory', containerReason: 'Error' },
    /Evicted: node is low/,
  ],
] as const) {
  test(`a pod that ends in the middle of a command is an error of that command only: ${name}`, when, async () => {
    const rig = await newRig()
    const running = rig.run('echo started; touch begun; sleep 60')
    await eventually(async () => (await readdir(rig.folder)).includes('begun'))
    await rig.fake.cluster.failPod(rig.pods()[0] ?? '', end)
    await assert.rejects(running, { code: 'unavailable', message: expected })
    assert.equal((await rig.run('cat begun && echo on')).output, 'on\n')
  })
}

test('a pod that ended while idle is replaced without an error', when, async () => {
  const rig = await newRig()
  await rig.run('true')
  await rig.fake.cluster.failPod(rig.pods()[0] ?? '', { containerReason: 'Error' })
  assert.equal((await rig.run('echo on')).output, 'on\n')
  for (const name of rig.pods()) rig.fake.cluster.removeSandbox(name)
  await eventually(async () => rig.pods().length === 0)
  assert.equal((await rig.run('echo still on')).output, 'still on\n')
})

test('a lost connection ends the command and is an error of that command', when, async () => {
  const rig = await newRig()
  const marker = longSleep()
  const running = rig.run(`touch begun; ${marker}`)
  await eventually(async () => (await readdir(rig.folder)).includes('begun'))
  rig.fake.dropExecs()
  await assert.rejects(running, { code: 'unavailable', message: /the sandbox ended during the command/ })
  assert.equal(await isRunning(marker), false)
  assert.equal((await rig.run('echo on')).output, 'on\n')
})

test('a pod that cannot be ended is reported, not hidden', when, async () => {
  const rig = await newRig()
  const running = rig.run('touch begun; sleep 60')
  await eventually(async () => (await readdir(rig.folder)).includes('begun'))
  rig.fake.cluster.isNodeLost = true
  rig.fake.plan(/exec/, { status: 404, message: 'node lost' }, 100)
  rig.fake.dropExecs()
  await assert.rejects(running, { code: 'unavailable', message: /cannot confirm that the command has ended/ })
})

test('transient failures of the API server are retried; a wrong token is read again', when, async () => {
  const rig = await newRig()
  rig.fake.plan(/POST .*sandboxes/, 'drop')
  rig.fake.plan(/POST .*sandboxes/, { status: 429, message: 'slow down', retryAfter: 0 })
  rig.fake.plan(/POST .*sandboxes/, { status: 500, message: 'etcd leader changed' })
  rig.fake.plan(/watch=1/, { status: 410, message: 'too old resource version' })
  rig.fake.plan(/\/exec/, { status: 503, message: 'kubelet is busy' })
  assert.equal((await rig.run('echo on')).output, 'on\n')
  rig.fake.state.tokens.clear()
  rig.fake.state.tokens.add('token-2')
  const running = rig.run('echo rotated')
  await pause(50)
  await writeFile(`${rig.fake.files.tokenFile}.new`, 'token-2\n')
  await rename(`${rig.fake.files.tokenFile}.new`, rig.fake.files.tokenFile)
  assert.equal((await running).output, 'rotated\n')
})

test('a watch that expires or ends starts again', when, async () => {
  const rig = await newRig()
  rig.fake.cluster.hasController = false
  const running = rig.run('echo on')
  await eventually(async () => rig.fake.state.watches.size > 0)
  for (const watch of rig.fake.state.watches) {
    watch.write(`${JSON.stringify({ type: 'ERROR', object: { code: 410, message: 'too old resource version' } })}\n`)
  }
  await eventually(async () => rig.fake.state.requests.filter(line => line.includes('watch=1')).length >= 3)
  for (const watch of rig.fake.state.watches) watch.end()
  await eventually(async () => rig.fake.state.requests.filter(line => line.includes('watch=1')).length >= 4)
  rig.fake.cluster.hasController = true
  for (const sandbox of rig.fake.cluster.list('sandboxes')) rig.fake.cluster.createSandbox(sandbox)
  assert.equal((await running).output, 'on\n')
})

for (const [name, fault, expected] of [
  ['a quota', { status: 403, message: 'exceeded quota: pods=10' }, /exceeded quota.*403/],
  ['a conflict that is not ours', { status: 422, message: 'image is invalid' }, /image is invalid/],
  ['garbage', 'garbage', /not a JSON object/],
] as const) {
  test(`a rejection is an error of the command, and the session continues: ${name}`, when, async () => {
    const rig = await newRig()
    rig.fake.plan(/POST .*sandboxes/, fault, 100)
    const running = rig.run('true')
    await assert.rejects(running, { code: 'unavailable', message: expected })
    rig.fake.state.faults.length = 0
    assert.equal((await rig.run('echo on')).output, 'on\n')
  })
}

for (const [name, prepare, expected] of [
  [
    'the image',
    rig => {
      rig.fake.cluster.waiting = { reason: 'ImagePullBackOff', message: 'no such image' }
    },
    /ImagePullBackOff: no such image/,
  ],
  [
    'a node',
    rig => {
      rig.fake.cluster.unschedulable = '0/3 nodes are available'
    },
    /did not start.*Unschedulable: 0\/3/,
  ],
  [
    'the controller',
    rig => {
      rig.fake.cluster.hasController = false
    },
    /check the controller of agent-sandbox/,
  ],
] as const satisfies readonly (readonly [string, (rig: KubernetesRig) => void, RegExp])[]) {
  test(`a pod that does not start is an error that names why: ${name}`, when, async () => {
    const rig = await newRig({ times: { startMs: 700 } })
    prepare(rig)
    await assert.rejects(rig.run('true'), { code: 'unavailable', message: expected })
    await eventually(async () => rig.fake.cluster.list('sandboxes').length === 0)
  })
}

test('a command that is cancelled while its pod starts does not run', when, async () => {
  const rig = await newRig()
  rig.fake.cluster.unschedulable = 'no node'
  const stop = new AbortController()
  const running = rig.run('touch never', { signal: stop.signal })
  await eventually(async () => rig.pods().length > 0)
  stop.abort()
  assert.equal((await running).outcome, 'cancelled')
  assert.deepEqual(await readdir(rig.folder), [])
})

test('an API server that hangs is an error within the time limit, and the session continues', when, async () => {
  const rig = await newRig()
  rig.fake.plan(/POST .*sandboxes/, 'hang', 100)
  await assert.rejects(rig.run('true'), { code: 'unavailable', message: /no response in time/ })
  rig.fake.state.faults.length = 0
  rig.fake.plan(/\/exec/, 'hang')
  await assert.rejects(rig.run('true'), { code: 'unavailable', message: /no response in time/ })
  assert.equal((await rig.run('echo on')).output, 'on\n')
})

test('garbage on the connection of a command is an error of that command', when, async () => {
  const rig = await newRig()
  const running = rig.run('touch begun; sleep 60')
  await eventually(async () => (await readdir(rig.folder)).includes('begun'))
  for (const exec of rig.fake.state.execs) exec.sendRaw(Buffer.from('HTTP/1.1 502 Bad Gateway\r\n\r\n'))
  await assert.rejects(running, { code: 'unavailable', message: /invalid WebSocket frame/ })
  assert.equal((await rig.run('echo on')).output, 'on\n')
})
