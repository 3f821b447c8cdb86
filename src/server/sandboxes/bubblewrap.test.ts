import assert from 'node:assert/strict'
import { chown } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { trySockets } from '../../../test/support/service/try-sockets.ts'
import { bubblewrapDriver } from './bubblewrap.ts'
import { type BoundRequest, sandboxLimits } from './sandbox.ts'
import { temporaryFolder } from './sandboxes-for-tests.ts'

// Fails with the reason where bubblewrap is missing or not permitted: without it these tests prove nothing.
const driver = await bubblewrapDriver(sandboxLimits)
const folder = await temporaryFolder()
if (driver.owner !== undefined) await chown(folder, driver.owner, driver.owner)

const run = (command: string, request: Partial<BoundRequest> = {}) =>
  driver.exec(folder, { command, timeoutMs: 20_000, signal: new AbortController().signal, ...request })

test('S35: the root has only folders of the system and the workspace', async () => {
  const { output: root } = await run('ls -A /')
  const system = new Set(['bin', 'dev', 'etc', 'lib', 'lib32', 'lib64', 'proc', 'sbin', 'tmp', 'usr', 'workspace'])
  const others = root
    .trim()
    .split('\n')
    .filter(name => !system.has(name))
  assert.deepEqual(others, [])
  assert.notEqual((await run('touch /dev/x')).exitCode, 0)
})

test('S35: a command can use no privileged system calls', async () => {
  const { output } = await run('grep Seccomp: /proc/self/status; unshare -Ur true')
  assert.match(output, /^Seccomp:\s*2$/m)
  assert.match(output, /unshare failed/)
})

test('H2, S35: only UNIX, IPv4, IPv6 and netlink sockets are allowed', async () => {
  const { output } = await run(trySockets)
  assert.deepEqual(
    [...new Set(output.trim().split('\n'))],
    ['socket 1', 'pair 1', 'socket 2', 'socket 10', 'socket 16'],
  )
})

test('a missing folder is an internal error, described only in the server log', async () => {
  const missing = join(tmpdir(), 'switchyard-no-such-folder')
  const request = { command: 'true', timeoutMs: 1000, signal: new AbortController().signal }
  await assert.rejects(driver.exec(missing, request), { code: 'internal', message: 'cannot start the sandbox' })
})
