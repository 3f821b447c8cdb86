import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newRig } from '../../../../test/support/kubernetes/driver-rig.ts'
import type { FakeApiServer } from '../../../../test/support/kubernetes/fake-api-server.ts'
import { fakeClusterFor } from '../../../../test/support/kubernetes/fake-cluster-for.ts'
import { eventually } from '../../../../test/support/service/eventually.ts'
import { lack } from '../../../../test/support/service/lack.ts'
import { createSandboxCheck } from '../check-sandbox.ts'
import { isRunning, longSleep, sandboxesForTests } from '../sandboxes-for-tests.ts'

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

test('commands have the image of their agent, and pods of one image are not reused for another', when, async () => {
  const rig = await newRig()
  const imagesOf = () =>
    rig.fake.cluster.list('pods').map(({ spec }) => (spec as { containers: { image: string }[] }).containers[0]?.image)
  await rig.run('true')
  await rig.run('true', { base: { image: 'node:24' } })
  const pods = rig.pods()
  assert.deepEqual(imagesOf().sort(), ['debian:13', 'node:24'])
  await rig.run('true', { base: { image: 'node:24' } })
  await rig.run('true')
  assert.deepEqual(rig.pods(), pods)
})

test('an agent may name an allowed image, but has no set-up commands', when, async () => {
  let fake: FakeApiServer | undefined
  const sandboxes = await sandboxesForTests('kubernetes', async volume => {
    const cluster = await fakeClusterFor(volume, ['node:24'])
    ;({ fake } = cluster)
    return cluster
  })
  const sessionOf = (sandbox: object) => ({
    id: 'ses_1',
    owner_id: 'me',
    agent_id: 'agt_1',
    environment: {},
    config: { sandbox },
  })
  const never = new AbortController().signal
  const sandbox = await sandboxes.open('ses_1', sessionOf({ image: 'node:24' }))
  assert.equal((await sandbox.exec({ command: 'echo fine' })).output, 'fine\n')
  assert.match(JSON.stringify(fake?.cluster.list('pods')), /"image":"node:24"/)
  await assert.rejects(sandboxes.prepare(sessionOf({ image: 'evil:1' }), never), { code: 'invalid_request' })
  await assert.rejects(sandboxes.prepare(sessionOf({ setup: ['true'] }), never), { code: 'unavailable' })
  const check = createSandboxCheck(sandboxes)
  const problemOf = (wish: object) => check({ sandbox: wish }, 'sandbox')?.problem ?? ''
  assert.equal(problemOf({ image: 'node:24' }), '')
  assert.match(problemOf({ image: 'evil:1' }), /is not allowed; use one of debian:13, node:24/)
  assert.match(problemOf({ setup: ['true'] }), /^needs the sandbox bubblewrap or docker, but this service uses: a pod/)
})

test('the end of a driver deletes the idle pods of all sessions', when, async () => {
  const rig = await newRig()
  await rig.run('true')
  await rig.driver.close?.()
  assert.equal(rig.fake.cluster.list('sandboxes').length, 0)
})

test('a release deletes the idle pods of a session', when, async () => {
  const rig = await newRig()
  await rig.run('true')
  await rig.driver.release?.(rig.folder)
  assert.equal(rig.fake.cluster.list('sandboxes').length, 0)
})
