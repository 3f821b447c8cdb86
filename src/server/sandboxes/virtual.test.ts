import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { mkdir, readdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { eventually } from '../../../test/support/service/eventually.ts'
import { sandboxLimits } from './sandbox.ts'
import { isRunning, temporaryFolder } from './sandboxes-for-tests.ts'
import { virtualDriver } from './virtual.ts'

const driver = virtualDriver(sandboxLimits)
const base = await temporaryFolder()
const folder = join(base, 'ses')
await mkdir(folder)

const run = (command: string, timeoutMs = 20_000, signal = new AbortController().signal) =>
  driver.exec(folder, { command, timeoutMs, signal })

test('output and exit code are returned, and files persist between calls', async () => {
  assert.equal((await run('mkdir -p a && echo one > a/b')).exitCode, 0)
  const { outcome, exitCode, output } = await run('pwd; cat a/b; echo two >&2; exit 7')
  assert.deepEqual([outcome, exitCode, output], ['exited', 7, '/workspace\none\ntwo\n'])
})

test('S34: paths outside of the workspace can be neither read nor written, also not through links', async () => {
  await writeFile(join(base, 'secret'), 'visible')
  await mkdir(join(base, 'ses2'))
  await symlink('../secret', join(folder, 'link'))
  await symlink('../ses2', join(folder, 'folder-link'))
  const reads = [
    'cat ../secret',
    `cat ${base}/secret`,
    'cat link',
    'cat /workspace/../secret',
    'cat /etc/hostname',
    'ls folder-link/',
  ]
  for (const command of reads) {
    const { exitCode, output } = await run(command)
    assert.notEqual(exitCode, 0, command)
    assert.doesNotMatch(output, /visible/, command)
  }
  await run(
    `echo x > ../new; echo x > ${base}/new; echo x > link; echo x > folder-link/new; ln -s ${base}/secret l; echo x > l`,
  )
  assert.deepEqual((await readdir(base)).sort(), ['secret', 'ses', 'ses2'])
  assert.deepEqual(await readdir(join(base, 'ses2')), [])
})

test('the environment of the server is not visible inside, and there is no network', async () => {
  process.env['SWITCHYARD_TEST_CANARY'] = 'canary-51d2'
  const { output } = await run('env; set; cat /proc/self/environ; curl http://127.0.0.1/')
  delete process.env['SWITCHYARD_TEST_CANARY']
  assert.doesNotMatch(output, /canary/)
  assert.match(output, /curl: command not found/)
})

test('an endless regular expression is stopped at its timeout and does not block the server', async () => {
  let ticks = 0
  const ticking = setInterval(() => ticks++, 20)
  const { outcome } = await run(`[[ ${'a'.repeat(40)}! =~ ^(a+)+$ ]]; sleep 30`, 800)
  clearInterval(ticking)
  assert.equal(outcome, 'timed_out')
  assert(ticks > 10)
})

test('an endless loop and endless output are stopped', async () => {
  assert.match((await run('while true; do :; done', 2_000)).outcome, /exited|timed_out/)
  const { outcome, output } = await run('while true; do echo yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy; done', 2_000)
  assert.match(outcome, /exited|timed_out/)
  assert(output.length < sandboxLimits.outputBytes + 200)
})

test('a cancellation kills a command at once', async () => {
  const stop = new AbortController()
  const running = run('sleep 30', 20_000, stop.signal)
  setImmediate(() => stop.abort())
  assert.equal((await running).outcome, 'cancelled')
})

test('a command ends when its server is killed', async () => {
  const seconds = String(randomInt(200_000, 900_000))
  const program = `
    import { virtualDriver } from ${JSON.stringify(join(import.meta.dirname, 'virtual.ts'))}
    import { sandboxLimits } from ${JSON.stringify(join(import.meta.dirname, 'sandbox.ts'))}
    const { signal } = new AbortController()
    const command = 'echo > started-${seconds}; sleep ${seconds}'
    await virtualDriver(sandboxLimits).exec(${JSON.stringify(folder)}, { command, timeoutMs: 1e9, signal })`
  const server = spawn(process.execPath, ['--input-type=module', '-e', program], { stdio: 'ignore' })
  await eventually(async () => (await readdir(folder)).includes(`started-${seconds}`))
  const marker = `virtual-shell.ts ${folder} ${server.pid}`
  assert.equal(await isRunning(marker), true)
  server.kill('SIGKILL')
  await eventually(async () => !(await isRunning(marker)))
})

test('commands that share a process share nothing else, and a stopped one leaves the next alone', async () => {
  await run('left=over; cd /tmp; echo kept > /tmp/note; exit 3')
  const { exitCode, output } = await run('echo "[$left]"; pwd; cat /tmp/note')
  assert.deepEqual([exitCode, output.split('\n').slice(0, 2)], [1, ['[]', '/workspace']])
  assert.doesNotMatch(output, /kept/)
  assert.equal((await run('sleep 30', 100)).outcome, 'timed_out')
  assert.deepEqual((await run('echo next')).output, 'next\n')
})

test('parallel commands of one workspace see the same files', async () => {
  await Promise.all(['1', '2', '3'].map(name => run(`echo ${name} > parallel-${name}`)))
  assert.equal((await run('cat parallel-*')).output, '1\n2\n3\n')
})
