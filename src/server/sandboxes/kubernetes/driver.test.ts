import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newRig } from '../../../../test/support/kubernetes/driver-rig.ts'
import { lack } from '../../../../test/support/service/lack.ts'
import { eventually, isRunning, longSleep } from '../sandboxes-for-tests.ts'

const when = { skip: lack('bubblewrap') }

test('commands of a session share one pod, parallel ones have their own, and idle pods are deleted', when, async () => {
  const rig = await newRig({ times: { idleMs: 300 } })
  await rig.run('true')
  const first = rig.pods()
  await rig.run('true')
  assert.deepEqual(rig.pods(), first)
  assert.equal(first.length, 1)
  const both = await Promise.all([rig.run('sleep 0.3; ls /proc | grep -c "^[0-9]"'), rig.run('kill -KILL -1; echo on')])
  assert.equal(both[0].exitCode, 0)
  await eventually(async () => rig.pods().length === 0)
  assert.equal((await rig.run('echo again')).output, 'again\n')
})

test('nothing of a command is left for the next one: no process, no file in the scratch folders', when, async () => {
  const { run } = await newRig()
  const marker = longSleep()
  await run(`setsid sh -c 'setsid env -i ${marker} &' & mkdir -p /tmp/.a/b /dev/shm/c; touch "/tmp/ x" /tmp/.a/b/c`)
  assert.equal(await isRunning(marker), false)
  assert.equal((await run('ls -A /tmp /dev/shm | grep -v : | tr -d "\\n"')).output, '')
})

test('a command that kills its shell and its guard is ended at its timeout with what it started', when, async () => {
  const { run } = await newRig()
  const marker = longSleep()
  const result = await run(
    `setsid ${marker} & for p in /proc/[0-9]*; do p=\${p#/proc/}; [ $p = $$ ] || [ $p = $! ] || kill -KILL $p; done; wait`,
    {
      timeoutMs: 700,
    },
  )
  assert.match(result.outcome, /exited|timed_out/)
  assert.equal(await isRunning(marker), false)
})

test('a scratch folder that cannot be emptied costs the pod, not the next command', when, async () => {
  const rig = await newRig()
  await rig.run('mkdir -p /tmp/a/b; touch /tmp/a/b/c; chmod 000 /tmp/a')
  assert.equal((await rig.run('ls -A /tmp | wc -l')).output, '0\n')
})

test('commands, variables and input do not appear in requests, which clusters log', when, async () => {
  const rig = await newRig()
  await rig.run('echo secret-of-the-command')
  assert.doesNotMatch(rig.fake.state.requests.join('\n'), /secret-of/)
})

test('the sandbox of a server that has ended expires; a running one renews it', when, async () => {
  const rig = await newRig({ times: { leaseMs: 3_000 } })
  assert.equal((await rig.run('sleep 4; echo on')).output, 'on\n')
  assert.ok(rig.fake.state.requests.some(line => line.startsWith('PATCH')))
})

test('the next start deletes what ended servers of this host left, and nothing else', when, async () => {
  const rig = await newRig()
  await rig.run('true')
  const [own] = rig.fake.cluster.list('sandboxes')
  assert.ok(own)
  const copy = (name: string, metadata: object) =>
    rig.fake.cluster.store('sandboxes', { ...own, metadata: { ...own.metadata, name, ...metadata } })
  copy('left', { annotations: { 'switchyard/process': '1-1' } })
  copy('other-host', { labels: { ...(own.metadata['labels'] as object), 'switchyard/host': 'ffff' }, annotations: {} })
  copy('not-ours', { labels: {}, annotations: {} })
  await rig.open()
  const names = rig.fake.cluster.list('sandboxes').map(({ metadata }) => metadata.name)
  assert.deepEqual(names.sort(), ['not-ours', 'other-host', own.metadata.name].sort())
})

test('a release deletes the idle pods of a session', when, async () => {
  const rig = await newRig()
  await rig.run('true')
  await rig.driver.release?.(rig.folder)
  assert.equal(rig.fake.cluster.list('sandboxes').length, 0)
})
