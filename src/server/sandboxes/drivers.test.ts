import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { driversForTests, type Subject } from '../../../test/support/sandboxes/drivers.ts'
import { keepBusy } from '../../../test/support/service/busy-processors.ts'
import { eventually } from '../../../test/support/service/eventually.ts'
import { findCgroups } from './cgroup.ts'
import { type SandboxLimits, sandboxLimits } from './sandbox.ts'
import { countRunning, isRunning, longSleep, runnerOf, temporaryFolder } from './sandboxes-for-tests.ts'

const MiB = 1024 * 1024
const limits: SandboxLimits = {
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

for (const subject of await driversForTests()) await testDriver(subject)

async function testDriver(subject: Subject): Promise<void> {
  const { name, skip, isReal } = subject
  if (skip !== false) {
    test(`${name}: commands`, { skip }, () => undefined)
    return
  }
  const driver = await subject.create(limits)
  after(() => driver.close?.())
  const folder = await subject.createFolder(driver)
  const run = runnerOf({ driver, folder })
  testCommands(subject, run)
  if (!isReal) return
  testProcesses(name, run)
  testIsolation(name, run)
  testLimits(subject, { run, folder })
  testServerDeath(subject, folder)
}

type Run = ReturnType<typeof runnerOf>

function testCommands({ name, isReal }: Subject, run: Run): void {
  test(`${name}: output of both streams and exit code are returned`, async () => {
    const { outcome, exitCode, output, truncated } = await run('echo one; echo two >&2; exit 7')
    assert.deepEqual([outcome, exitCode, output, truncated], ['exited', 7, 'one\ntwo\n', false])
  })

  test(`${name}: output is passed on as it arrives`, async () => {
    const parts: string[] = []
    const { output } = await run('echo first; sleep 0.3; echo second', { onOutput: part => parts.push(String(part)) })
    assert.equal(parts.join(''), output)
    assert.equal(output, 'first\nsecond\n')
  })

  test(`S32: ${name}: the environment of the server is not visible inside`, async () => {
    const { output } = await run('env')
    assert.match(output, /^HOME=\/workspace$/m)
    assert.doesNotMatch(output, new RegExp(`SWITCHYARD|NODE_|${canary}`))
  })

  test(`${name}: an endless loop is stopped at its timeout`, async () => {
    const { outcome, exitCode } = await run('while true; do true; done', { timeoutMs: 1_000 })
    if (isReal) assert.deepEqual([outcome, exitCode], ['timed_out', null])
    else assert.ok(outcome === 'timed_out' || exitCode !== 0, outcome)
  })

  test(`${name}: a cancelled command returns at once, and one that was cancelled before does not start`, async () => {
    const stop = new AbortController()
    const running = run('sleep 100', { signal: stop.signal, timeoutMs: 60_000 })
    setTimeout(() => stop.abort(), 300)
    assert.equal((await running).outcome, 'cancelled')
    const never = await run('echo never', { signal: stop.signal })
    assert.deepEqual([never.outcome, never.output], ['cancelled', ''])
  })

  test(`${name}: parallel commands of one workspace see the same files`, async () => {
    await Promise.all(Array.from({ length: 4 }, (_, index) => run(`echo ${index} > parallel-${index}`)))
    assert.equal((await run('cat parallel-* | sort -n | tr -d "\\n"; rm parallel-*')).output, '0123')
  })
}

function testProcesses(name: string, run: Run): void {
  test(`${name}: both streams are in the order in which they were written`, async () => {
    assert.equal((await run('for i in 1 2 3; do echo $i; echo $i >&2; done')).output, '1\n1\n2\n2\n3\n3\n')
  })

  test(`${name}: a command may still write output at its timeout`, async () => {
    const { output } = await run('trap "echo tidy; exit 0" TERM; echo ready; sleep 60 & wait', { timeoutMs: 3_000 })
    assert.equal(output, 'ready\ntidy\n')
  })

  test(`${name}: a command that ignores SIGTERM is killed`, async () => {
    const marker = longSleep()
    const { outcome } = await run(`trap "" TERM INT HUP; ${marker}; ${marker}`, { timeoutMs: 1_000 })
    assert.equal(outcome, 'timed_out')
    assert.equal(await isRunning(marker), false)
  })

  test(`${name}: a background process has ended when the call returns`, async () => {
    const marker = longSleep()
    const { output } = await run(`(${marker} &); setsid nohup ${marker} >/dev/null 2>&1 & echo back`)
    assert.equal(output, 'back\n')
    assert.equal(await isRunning(marker), false)
  })

  test(`${name}: a cancellation kills all processes at once`, async () => {
    const marker = longSleep()
    const stop = new AbortController()
    const running = run(`trap "" TERM; setsid ${marker} & ${marker}`, { signal: stop.signal })
    await eventually(() => isRunning(marker))
    stop.abort()
    assert.equal((await running).outcome, 'cancelled')
    assert.equal(await isRunning(marker), false)
  })

  test(`${name}: a command killed by a signal exits with 128 plus the signal number and no added output`, async () => {
    const { exitCode, output } = await run('kill -KILL $$')
    assert.deepEqual([exitCode, output], [137, ''])
  })

  test(`${name}: a command of 99,000 bytes runs`, async () => {
    assert.equal((await run(`: ${'x'.repeat(99_000)}`)).exitCode, 0)
  })

  test(`${name}: commands do not ignore the signals of a keyboard`, async () => {
    assert.equal((await run('sh -c "kill -INT \\$\\$; echo survived"')).output, '')
  })

  test(`${name}: parallel commands do not see each other`, async () => {
    const results = await Promise.all(
      Array.from({ length: 8 }, () => run('echo x > /tmp/mine; ls /tmp | wc -l; ls /proc | grep -c "^[0-9]"')),
    )
    for (const { output } of results) {
      const [files, processes] = output.trim().split('\n').map(Number)
      assert.equal(files, 1)
      assert.ok((processes ?? 99) < 12, output)
    }
  })
}

function testIsolation(name: string, run: Run): void {
  test(`S35: ${name}: files of the host are not visible, and only the workspace and scratch folders are writable`, async () => {
    const outside = join(await temporaryFolder(), 'file')
    await writeFile(outside, 'visible')
    for (const path of ['/root/.ssh', '/proc/1/root/etc/shadow', outside, `/workspace/..${outside}`])
      assert.notEqual((await run(`ls -d ${path}`)).exitCode, 0, path)
    for (const path of ['/x', '/etc/x', '/usr/x', '/opt/x', '/proc/sys/kernel/hostname'])
      assert.notEqual((await run(`test -w ${path} || touch ${path}`)).exitCode, 0, path)
    assert.equal((await run('touch /workspace/x /tmp/x /dev/shm/x && rm /workspace/x')).exitCode, 0)
    const { output } = await run(
      'cat /proc/[0-9]*/cmdline; cat /proc/*/environ 2>/dev/null; grep -r canary /etc /tmp .',
    )
    assert.doesNotMatch(output, new RegExp(`node|bwrap|postgres|${canary}`))
  })

  test(`S35: ${name}: a command has no privileges: not root, no capabilities, no way to gain any`, async () => {
    const { output } = await run('id -u; grep -E "^(Cap|NoNewPrivs)" /proc/self/status; mount -t tmpfs x /tmp')
    assert.doesNotMatch(output, /^0$/m)
    for (const set of ['Inh', 'Prm', 'Eff', 'Bnd', 'Amb']) assert.match(output, new RegExp(`^Cap${set}:\\s*0+$`, 'm'))
    assert.match(output, /^NoNewPrivs:\s*1$/m)
  })

  test(`S35: ${name}: no process inside is root outside`, async () => {
    const marker = longSleep()
    const stop = new AbortController()
    const running = run(marker, { signal: stop.signal })
    await eventually(() => isRunning(marker))
    for (const pid of await readdir('/proc')) {
      const line = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')
      if (line === `${marker.replace(' ', '\0')}\0`) assert.notEqual((await stat(`/proc/${pid}`)).uid, 0)
    }
    stop.abort()
    await running
  })

  test(`S35: ${name}: there is no network: neither the loopback of the server nor any other address`, async () => {
    let connections = 0
    const server = createServer(socket => {
      connections++
      socket.destroy()
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const address = server.address()
    assert(address && typeof address === 'object')
    for (const target of [`127.0.0.1/${address.port}`, '1.1.1.1/53', '10.0.0.1/80', '169.254.169.254/80'])
      assert.notEqual((await run(`exec 3<>/dev/tcp/${target}`, { timeoutMs: 5_000 })).exitCode, 0, target)
    assert.equal((await run('tail -n +3 /proc/net/dev | grep -vc lo:')).output.trim(), '0')
    server.close()
    assert.equal(connections, 0)
  })
}

interface Ground {
  readonly run: Run
  readonly folder: string
}

function testLimits({ name, create, hasGroups }: Subject, { run, folder }: Ground): void {
  test(`${name}: endless output is retained up to its limit, counted, and stopped`, async () => {
    const { outcome, output, outputBytes, truncated } = await run('yes')
    assert.equal(outcome, 'output_limit')
    assert(output.length < limits.outputBytes + 200)
    assert(outputBytes > limits.totalOutputBytes)
    assert(truncated)
  })

  test(`${name}: long output is counted, and its end is retained`, async () => {
    const { exitCode, output, outputBytes } = await run('yes | head -c 5000000; echo; echo the end')
    assert.deepEqual([exitCode, outputBytes], [0, 5_000_009])
    assert(output.endsWith('\nthe end\n'))
  })

  const whenLimited = { skip: hasGroups ? false : 'the fake cluster has no control groups' }

  test(`${name}: a fork bomb has ended after its timeout`, async () => {
    const marker = longSleep()
    await run(`bomb() { bomb | bomb & }; bomb; ${marker}`, { timeoutMs: 1_000 })
    assert.equal(await isRunning(marker), false)
    assert.equal((await run('echo fine')).output, 'fine\n')
  })

  test(`S35: ${name}: processes stay within their limit`, whenLimited, async () => {
    const marker = longSleep()
    let most = 0
    const starting = run(`for i in $(seq 200); do ${marker} & done`, { timeoutMs: 8_000 })
    await eventually(async () => {
      most = Math.max(most, await countRunning(marker))
      return most > limits.processes / 2
    })
    const { output } = await starting
    assert.match(output, /Resource temporarily unavailable|[Cc]annot fork/)
    assert(most <= limits.processes)
  })

  test(`S35: ${name}: memory is limited`, whenLimited, async () => {
    assert.notEqual((await run('head -c 600M /dev/zero | tail > /dev/null')).exitCode, 0)
  })

  test(`${name}: in-memory folders are limited`, async () => {
    const { output } = await run('df -B1 --output=size /tmp /dev/shm | tail -n +2')
    for (const size of output.trim().split('\n')) assert.equal(Number(size), limits.scratchBytes)
  })

  test(`${name}: four busy processes share the CPU quota of a command`, whenLimited, async () => {
    // Without the controller there is nothing to measure.
    if ((await findCgroups(limits))?.cpu === undefined) return
    const narrow = await create({ ...limits, cpus: 0.25 })
    after(() => narrow.close?.())
    const signal = new AbortController().signal
    const { output } = await narrow.exec(folder, { command: keepBusy, timeoutMs: 20_000, signal })
    assert.ok(Number(output) > 0 && Number(output) < 0.4, output)
  })

  test(`${name}: one file cannot fill the disk`, async () => {
    assert.notEqual((await run('head -c 20M /dev/zero > large')).exitCode, 0)
    assert.equal((await stat(join(folder, 'large'))).size, limits.fileBytes)
  })
}

const addressOf = (file: string) => JSON.stringify(new URL(file, import.meta.url).href)

function testServerDeath({ name, creation, creationArguments }: Subject, folder: string): void {
  /** Starts a separate server that runs one long command, and kills it once `isTime` is true. */
  async function killServer(marker: string, isTime: () => Promise<boolean>): Promise<void> {
    const program = `
      import { sandboxLimits } from ${addressOf('./sandbox.ts')}
      ${creation}
      const command = 'touch started; ' + ['sleep', process.argv[1]].join(' ') + '; true'
      await driver.exec(process.argv[2], { command, timeoutMs: 60000, signal: new AbortController().signal })`
    const args = ['--input-type=module', '-e', program, marker.slice('sleep '.length), folder, ...creationArguments]
    const server = spawn(process.execPath, args, { stdio: 'ignore', env: {} })
    await eventually(isTime)
    server.kill('SIGKILL')
    await once(server, 'exit')
  }

  test(`${name}: a running command ends when the server is killed`, async () => {
    const marker = longSleep()
    await killServer(marker, async () => existsSync(join(folder, 'started')) && (await isRunning(marker)))
    await eventually(async () => !(await isRunning(marker)))
  })

  test(`${name}: a starting command ends when the server is killed`, async () => {
    for (let attempt = 0; attempt < 6; attempt++) {
      const marker = longSleep()
      // The command is an argument of process 1, so it is visible before it runs.
      await killServer(marker, () => isRunning(marker))
      await eventually(async () => !(await isRunning(marker)))
    }
  })
}
