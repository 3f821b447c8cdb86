import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { opensDebugger } from '../support/service/inspector.ts'
import { startService } from '../support/service/service.ts'

const bin = join(import.meta.dirname, '..', '..', 'bin', 'switchyard.mjs')

test('a service that was started by "node src/cli/main.ts serve" ignores SIGUSR1', async () => {
  const service = await startService()
  assert.equal(await opensDebugger(service.pid, service.logs), false)
  assert.equal((await fetch(`${service.url}/health/live`)).status, 200)
})

test('so does one of the launcher, from its first moment', async () => {
  const service = await startService({ launcher: `exec "$1" ${bin} serve` })
  const children = readdirSync('/proc').filter(pid => /^\d+$/.test(pid) && parentOf(pid) === service.pid)
  assert.equal(children.length, 1)
  const pid = Number(children[0])
  assert.match(readFileSync(`/proc/${pid}/cmdline`, 'utf8'), /--disable-sigusr1/)
  assert.equal(await opensDebugger(pid, service.logs), false)
  assert.equal((await fetch(`${service.url}/health/live`)).status, 200)
})

test('without the flag Node does open it, so that this check can fail', () => {
  const script = `process.kill(process.pid, 'SIGUSR1'); setTimeout(() => process.exit(), 2000)`
  const text = execFileSync('bash', ['-c', '"$0" --inspect-port=0 -e "$1" 2>&1', process.execPath, script], {
    encoding: 'utf8',
  })
  assert.match(text, /debugger listening/i)
})

function parentOf(pid: string): number {
  try {
    return Number(/^PPid:\s*(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1])
  } catch {
    return 0
  }
}
