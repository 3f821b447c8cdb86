import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { chown, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { keepBusy } from '../../../test/support/service/busy-processors.ts'
import { trySockets } from '../../../test/support/service/try-sockets.ts'
import { bubblewrapDriver } from './bubblewrap.ts'
import { findCgroups } from './cgroup.ts'
import { longSleep, runnerOf, testDriver } from './driver-suite-for-tests.ts'
import { sandboxLimits } from './sandbox.ts'
import { countRunning, eventually, isRunning, temporaryFolder } from './sandboxes-for-tests.ts'

const MiB = 1024 * 1024
const limits = {
  ...sandboxLimits,
  memoryBytes: 256 * MiB,
  processes: 64,
  fileBytes: 2 * MiB,
  totalOutputBytes: 16 * MiB,
  graceMs: 300,
}

const canary = 'canary-7f3a9c'
process.env['SWITCHYARD_TEST_CANARY'] = canary
after(async () => {
  delete process.env['SWITCHYARD_TEST_CANARY']
  // Like the next start of a server: removes the empty groups of killed servers.
  await findCgroups(limits)
})

// Fails with the reason where bubblewrap is missing or not permitted: without it these tests prove nothing.
const driver = await bubblewrapDriver(limits)
const folder = await temporaryFolder()
if (driver.owner !== undefined) await chown(folder, driver.owner, driver.owner)

const run = runnerOf({ driver, folder })
testDriver({ driver, folder, limits })

test('the environment of the server is not visible inside', async () => {
  const { output } = await run('env; cat /proc/*/environ | tr "\\0" "\\n"; set; grep -r canary /etc /tmp /dev/shm .')
  assert.match(output, /^HOME=\/workspace$/m)
  assert.doesNotMatch(output, new RegExp(canary))
  assert.doesNotMatch(output, /SWITCHYARD|NODE_/)
})

test('files and processes of the host are not visible, and only the workspace and scratch folders are writable', async () => {
  const outside = join(await temporaryFolder(), 'file')
  await writeFile(outside, 'visible')
  const { output: root } = await run('ls -A /')
  const system = new Set(['bin', 'dev', 'etc', 'lib', 'lib32', 'lib64', 'proc', 'sbin', 'tmp', 'usr', 'workspace'])
  assert.deepEqual(
    root
      .trim()
      .split('\n')
      .filter(name => !system.has(name)),
    [],
  )
  for (const path of [
    '/etc/shadow',
    '/root',
    '/home',
    '/sys',
    '/proc/1/root/etc/shadow',
    outside,
    `/workspace/..${outside}`,
  ]) {
    assert.notEqual((await run(`ls -d ${path}`)).exitCode, 0, path)
  }
  for (const path of ['/x', '/etc/x', '/usr/x', '/dev/x', '/proc/sys/kernel/hostname']) {
    assert.notEqual((await run(`test -w ${path} || touch ${path}`)).exitCode, 0, path)
  }
  assert.equal((await run('touch /workspace/x /tmp/x /dev/shm/x && rm /workspace/x')).exitCode, 0)
  assert.doesNotMatch((await run('cat /proc/[0-9]*/cmdline')).output, /node|bwrap|postgres/)
  assert(Number((await run('ls /proc | grep -c "^[0-9]"')).output) < 8)
})

test('a command has no privileges: not root, no capabilities, no way to gain any, no privileged system calls', async () => {
  const { output } = await run(
    'id -u; grep -E "^(Cap|NoNewPrivs|Seccomp:)" /proc/self/status; unshare -Ur true; mount -t tmpfs x /tmp',
  )
  assert.doesNotMatch(output, /^0$/m)
  for (const set of ['Inh', 'Prm', 'Eff', 'Bnd', 'Amb']) assert.match(output, new RegExp(`^Cap${set}:\\s*0+$`, 'm'))
  assert.match(output, /^NoNewPrivs:\s*1$/m)
  assert.match(output, /^Seccomp:\s*2$/m)
  assert.match(output, /unshare failed/)
})

test('no process inside is root outside', async () => {
  const marker = longSleep()
  const stop = new AbortController()
  const running = run(marker, { signal: stop.signal })
  await eventually(() => isRunning(marker))
  for (const pid of await readdir('/proc')) {
    const line = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')
    if (line !== `${marker.replace(' ', '\0')}\0`) continue
    assert.notEqual((await stat(`/proc/${pid}`)).uid, 0)
  }
  stop.abort()
  await running
})

test('H2: only UNIX, IPv4, IPv6 and netlink sockets are allowed', async () => {
  const { output } = await run(trySockets)
  assert.deepEqual(
    [...new Set(output.trim().split('\n'))],
    ['socket 1', 'pair 1', 'socket 2', 'socket 10', 'socket 16'],
  )
})

test('there is no network: neither the loopback of the server nor any other address', async () => {
  let connections = 0
  const server = createServer(socket => {
    connections++
    socket.destroy()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  assert(address && typeof address === 'object')
  for (const target of [`127.0.0.1/${address.port}`, '1.1.1.1/53', '10.0.0.1/80', '169.254.169.254/80']) {
    assert.notEqual((await run(`exec 3<>/dev/tcp/${target}`, { timeoutMs: 5_000 })).exitCode, 0, target)
  }
  assert.equal((await run('tail -n +3 /proc/net/dev | grep -vc lo:')).output.trim(), '0')
  server.close()
  assert.equal(connections, 0)
})

test('a fork bomb stays within the process limit', async () => {
  const marker = longSleep()
  let most = 0
  const starting = run(`for i in $(seq 200); do ${marker} & done`, { timeoutMs: 1500 })
  await eventually(async () => {
    most = Math.max(most, await countRunning(marker))
    return most > limits.processes / 2
  })
  const { output } = await starting
  assert.match(output, /Resource temporarily unavailable/)
  assert(most <= limits.processes)
})

test('memory is limited, including that of in-memory folders', async () => {
  assert.notEqual((await run('head -c 600M /dev/zero | tail > /dev/null')).exitCode, 0)
  const { output } = await run('df -B1 --output=size /tmp /dev/shm | tail -n +2')
  for (const size of output.trim().split('\n')) assert.equal(Number(size), limits.scratchBytes)
})

test('L7: four busy processes share the CPU quota of a command', async () => {
  // Without the controller the detail reports that, and there is nothing to measure.
  if (!/control groups \(version \d\)/.test(driver.detail)) return
  const narrow = await bubblewrapDriver({ ...limits, cpus: 0.25 })
  const { output } = await narrow.exec(folder, {
    command: keepBusy,
    timeoutMs: 20_000,
    signal: new AbortController().signal,
  })
  assert.ok(Number(output) > 0 && Number(output) < 0.4, output)
})

/** Starts a separate server that runs one long command, and kills it once `isTime` is true. */
async function killServer(marker: string, isTime: () => Promise<boolean>): Promise<void> {
  const program = `
    import { bubblewrapDriver } from ${JSON.stringify(new URL('./bubblewrap.ts', import.meta.url).href)}
    import { sandboxLimits } from ${JSON.stringify(new URL('./sandbox.ts', import.meta.url).href)}
    const driver = await bubblewrapDriver(sandboxLimits)
    const command = 'touch started; ' + ['sleep', process.argv[1]].join(' ') + '; true'
    await driver.exec(process.argv[2], { command, timeoutMs: 60000, signal: new AbortController().signal })`
  const args = ['--input-type=module', '-e', program, marker.slice('sleep '.length), folder]
  const server = spawn(process.execPath, args, { stdio: 'ignore', env: {} })
  await eventually(isTime)
  server.kill('SIGKILL')
  await once(server, 'exit')
}

test('a running command ends when the server is killed', async () => {
  const marker = longSleep()
  await killServer(marker, async () => existsSync(join(folder, 'started')))
  await eventually(async () => !(await isRunning(marker)))
})

test('a starting command ends when the server is killed', async () => {
  for (let attempt = 0; attempt < 6; attempt++) {
    const marker = longSleep()
    // The command is an argument of bubblewrap, so it is visible long before it runs.
    await killServer(marker, () => isRunning(marker))
    await eventually(async () => !(await isRunning(marker)))
  }
})

test('a missing folder is an internal error, described only in the server log', async () => {
  const missing = join(tmpdir(), 'switchyard-no-such-folder')
  const request = { command: 'true', timeoutMs: 1000, signal: new AbortController().signal }
  await assert.rejects(driver.exec(missing, request), { code: 'internal', message: 'cannot start the sandbox' })
})
