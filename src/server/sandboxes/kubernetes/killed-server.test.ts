import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'
import { newRig } from '../../../../test/support/kubernetes/driver-rig.ts'
import { eventually } from '../../../../test/support/service/eventually.ts'
import { lack } from '../../../../test/support/service/lack.ts'
import { isRunning, longSleep } from '../sandboxes-for-tests.ts'

const when = { skip: lack('bubblewrap') }

test('a command ends when its server is killed, and the next server deletes its sandbox', when, async () => {
  const rig = await newRig()
  const marker = longSleep()
  const program = `
    import { kubernetesDriver } from ${JSON.stringify(new URL('./driver.ts', import.meta.url).href)}
    import { sandboxLimits } from ${JSON.stringify(new URL('../sandbox.ts', import.meta.url).href)}
    const [settings, workspacesDir, folder, seconds] = process.argv.slice(1)
    const log = { info() {}, warn() {} }
    const options = { settings: JSON.parse(settings), image: 'debian:13', limits: sandboxLimits, workspacesDir, log }
    const driver = await kubernetesDriver(options)
    const command = 'setsid ' + ['sleep', seconds].join(' ') + ' & wait'
    await driver.exec(folder, { command, timeoutMs: 60000, signal: new AbortController().signal })`
  const { settings, cluster } = rig.fake
  const args = [JSON.stringify(settings), cluster.settings.volume, rig.folder, marker.slice('sleep '.length)]
  const server = spawn(process.execPath, ['--input-type=module', '-e', program, ...args], { stdio: 'ignore', env: {} })
  await eventually(() => isRunning(marker))
  assert.equal(cluster.list('sandboxes').length, 1)
  server.kill('SIGKILL')
  await once(server, 'exit')
  await eventually(async () => !(await isRunning(marker)))
  await rig.open()
  assert.equal(cluster.list('sandboxes').length, 0)
})
