import assert from 'node:assert/strict'
import { chmod, mkdir, readdir } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { type KubernetesRig, newRig } from '../../../../test/support/kubernetes/driver-rig.ts'
import { fakeClusterFor } from '../../../../test/support/kubernetes/fake-cluster-for.ts'
import { eventually } from '../../../../test/support/service/eventually.ts'
import { lack } from '../../../../test/support/service/lack.ts'
import { pause } from '../../platform/timers.ts'
import { isRunning, longSleep, sandboxesForTests } from '../sandboxes-for-tests.ts'

const when = { skip: lack('bubblewrap') }

const start = (
  rig: KubernetesRig,
  command: string,
  more: { env?: Record<string, string>; readable?: string[] } = {},
) => {
  const folders = { workspace: rig.folder, home: `${rig.folder}.home`, sockets: `${rig.folder}.run` }
  const request = { command, env: {}, readable: [], signal: new AbortController().signal, ...more }
  if (!rig.driver.start) throw new Error('driver has no programs')
  return rig.driver.start(folders, request)
}

test('a program has its own input, output, errors, variables and HOME', when, async () => {
  const rig = await newRig()
  await mkdir(`${rig.folder}.home`)
  await chmod(`${rig.folder}.home`, 0o777)
  const program = await start(rig, 'read line; echo "got $line $NAME"; echo oops >&2; echo kept > $HOME/kept; exit 3', {
    env: { NAME: "it's" },
  })
  program.stdin.write('hello\n')
  assert.equal(await text(program.stdout), "got hello it's\n")
  assert.deepEqual(await program.exited, { code: 3 })
  assert.equal(program.errors(), 'oops\n')
  assert.deepEqual(await readdir(`${rig.folder}.home`), ['kept'])
  assert.doesNotMatch(rig.fake.state.requests.join('\n'), /NAME|oops/)
})

test('a program that reads slowly is not lost, and its input ends with stdin', when, async () => {
  const rig = await newRig()
  const program = await start(rig, 'head -c 3000000 /dev/zero; cat')
  await pause(200)
  program.stdin.end('end')
  const output = await text(program.stdout)
  assert.equal(output.length, 3_000_003)
  assert.deepEqual(await program.exited, { code: 0 })
})

test('a stop ends a program that ignores SIGTERM, with all its children', when, async () => {
  const rig = await newRig()
  const marker = longSleep()
  const program = await start(rig, `trap "" TERM; setsid ${marker} & ${marker}; ${marker}`)
  await eventually(() => isRunning(marker))
  await program.stop()
  assert.equal(await isRunning(marker), false)
  await eventually(async () => rig.fake.cluster.list('sandboxes').length === 0)
})

test('a program ends with its connection', when, async () => {
  const rig = await newRig()
  const marker = longSleep()
  const program = await start(rig, marker)
  await eventually(() => isRunning(marker))
  rig.fake.dropExecs()
  assert.deepEqual(await program.exited, { code: null })
  assert.match(program.errors(), /the sandbox ended/)
  assert.equal(await isRunning(marker), false)
})

test('a program whose files are not in the image is rejected with the path', when, async () => {
  const rig = await newRig()
  const program = await start(rig, 'true', { readable: ['/opt/no-such-tool'] })
  assert.deepEqual(await program.exited, { code: 127 })
  assert.match(program.errors(), /\/opt\/no-such-tool does not exist in the image/)
})

test('an agent with a network and a program with sockets are rejected with the reason', when, async () => {
  const sandboxes = await sandboxesForTests('kubernetes', fakeClusterFor)
  assert.equal(sandboxes.hasNetwork, false)
  const sandbox = await sandboxes.open('ses_1')
  const network = { open: () => Promise.reject(new Error('opened')) }
  await assert.rejects(sandbox.exec({ command: 'true', network }), { code: 'unavailable', message: /config\.network/ })
  assert.equal((await sandbox.programPlace('sandbox')).hasSockets, false)
  assert.equal((await sandbox.programPlace('none')).hasSockets, true)
})
