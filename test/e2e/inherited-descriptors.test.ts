import assert from 'node:assert/strict'
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { temporaryFolder } from '../support/service/data-folder.ts'
import { shellAgent } from '../support/sessions/shell-agent.ts'
import { startScriptedService } from '../support/upstream/scripted-service.ts'

const secret = 'only-for-the-launcher-91c2'
const file = join(temporaryFolder(), 'secret')
await writeFile(file, secret, { mode: 0o600 })
const launcher = `exec 5<'${file}' 40<'${file}' 200<'${file}' 201</; exec "$@"`
const { service } = await startScriptedService({ launcher, databaseUrl: '' })
const run = await shellAgent(service)
after(() => service.stop())

test('H1: a tool reads nothing by descriptors that the launcher of the service left open', async () => {
  for (const number of [5, 40, 200]) {
    const { text } = await run(`cat <&${number}; cat /proc/self/fd/${number}`)
    assert.doesNotMatch(text, new RegExp(secret), `descriptor ${number}`)
  }
  assert.doesNotMatch((await run('ls /proc/self/fd/201/ && cat /proc/self/fd/201/etc/shadow')).text, /etc|root:/)
  const { text } = await run('ls /proc/self/fd')
  assert.deepEqual(text.trim().split('\n'), ['0', '1', '2', '3'], 'the fourth is that of the listing')
})

test('H1: the embedded database gets none of them', () => {
  const servers = readdirSync('/proc').filter(pid => isOf(pid, service.dataDir))
  assert.ok(servers.length > 0, 'the database server was not found')
  for (const pid of servers) {
    const open = readdirSync(`/proc/${pid}/fd`).map(fd => readlinkSync(`/proc/${pid}/fd/${fd}`))
    assert.ok(!open.includes(file) && !open.includes('/'), open.join(' '))
  }
})

/** True for the database server of a data folder. */
function isOf(pid: string, dataDir: string): boolean {
  if (!/^\d+$/.test(pid)) return false
  try {
    const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
    return (words[0] ?? '').endsWith('/postgres') && words.includes(join(dataDir, 'postgres'))
  } catch {
    return false
  }
}
