import assert from 'node:assert/strict'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import type { BoundRequest, SandboxDriver, SandboxLimits } from './sandbox.ts'
import { eventually, isRunning } from './sandboxes-for-tests.ts'

interface Tested {
  readonly driver: SandboxDriver
  /** A workspace that the driver can use. */
  readonly folder: string
  readonly limits: SandboxLimits
}

/** Returns a long sleep that is unique on this machine. */
export const longSleep = () => `sleep 9${String(process.hrtime.bigint()).slice(-8)}`

/** Returns a function that runs a command in the workspace. */
export const runnerOf =
  ({ driver, folder }: Pick<Tested, 'driver' | 'folder'>) =>
  (command: string, request: Partial<BoundRequest> = {}) =>
    driver.exec(folder, { command, timeoutMs: 20_000, signal: new AbortController().signal, ...request })

/** Tests what every driver with real processes guarantees about a command. */
export function testDriver({ driver, folder, limits }: Tested): void {
  const { name } = driver
  const run = runnerOf({ driver, folder })

  test(`${name}: output, order of both streams and exit code are returned`, async () => {
    const { outcome, exitCode, output, truncated } = await run('echo one; echo two >&2; echo three; exit 7')
    assert.deepEqual(
      { outcome, exitCode, output, truncated },
      {
        outcome: 'exited',
        exitCode: 7,
        output: 'one\ntwo\nthree\n',
        truncated: false,
      },
    )
  })

  test(`${name}: an endless loop is stopped at its timeout`, async () => {
    const { outcome, exitCode } = await run('while :; do :; done', { timeoutMs: 300 })
    assert.deepEqual([outcome, exitCode], ['timed_out', null])
  })

  test(`${name}: a command may still write output at its timeout`, async () => {
    const { output } = await run('trap "echo tidy; exit 0" TERM; echo ready; sleep 60 & wait', { timeoutMs: 500 })
    assert.equal(output, 'ready\ntidy\n')
  })

  test(`${name}: a command that ignores SIGTERM is killed`, async () => {
    const marker = longSleep()
    const { outcome } = await run(`trap "" TERM INT HUP; ${marker}; ${marker}`, { timeoutMs: 300 })
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
    assert.equal((await run('echo never', { signal: stop.signal })).output, '')
  })

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

  test(`${name}: one file cannot fill the disk`, async () => {
    assert.notEqual((await run('head -c 20M /dev/zero > large')).exitCode, 0)
    assert.equal((await stat(join(folder, 'large'))).size, limits.fileBytes)
  })

  test(`${name}: parallel commands of one workspace see the same files and not each other`, async () => {
    const results = await Promise.all(
      Array.from({ length: 8 }, (_, index) =>
        run(`echo ${index} > parallel-${index}; echo x > /tmp/mine; ls /tmp | wc -l`),
      ),
    )
    assert.deepEqual(
      results.map(({ output }) => output.trim()),
      Array(8).fill('1'),
    )
    assert.equal((await run('cat parallel-* | sort -n | tr -d "\\n"')).output, '01234567')
  })

  test(`${name}: a command killed by a signal exits with 128 plus the signal number and no added output`, async () => {
    const { exitCode, output } = await run('kill -KILL $$')
    assert.deepEqual([exitCode, output], [137, ''])
  })

  test(`${name}: a fork bomb has ended after its timeout`, async () => {
    const marker = longSleep()
    await run(`bomb() { bomb | bomb & }; bomb; ${marker}`, { timeoutMs: 700 })
    assert.equal(await isRunning(marker), false)
    assert.equal((await run('echo fine')).output, 'fine\n')
  })

  test(`${name}: a command of 99,000 bytes runs`, async () => {
    assert.equal((await run(`: ${'x'.repeat(99_000)}`)).exitCode, 0)
  })
}
