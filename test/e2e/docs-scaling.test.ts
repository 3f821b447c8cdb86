import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { freshDatabase } from '../support/service/database.ts'
import { freePort } from '../support/service/free-port.ts'

const root = join(import.meta.dirname, '..', '..')
const file = join(root, 'docs', 'guides', 'scaling.md')
const page = readFileSync(file, 'utf8')

const blocks = (language: string): string[] =>
  [...page.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, 'gms'))].map(([, text = '']) => text)

test('the links of the guide lead somewhere, and its variables are in the configuration reference', () => {
  for (const [, target = ''] of page.matchAll(/\]\(([^)#]+)(?:#[^)]*)?\)/g)) {
    assert.ok(existsSync(join(dirname(file), target)), target)
  }
  const reference = readFileSync(join(root, 'docs', 'reference', 'configuration.md'), 'utf8')
  for (const [name] of page.matchAll(/\b(?:SWITCHYARD_[A-Z_]+|WORKERS|DATABASE_URL|GATEWAY_MASTER_KEY)\b/g)) {
    assert.ok(reference.includes(`\`${name}\``), name)
  }
})

test('the commands of the guide run as they are typed, but for the ports and the address of the database', async () => {
  const { url, pool } = await freshDatabase()
  const home = await mkdtemp(join(tmpdir(), 'switchyard-guide-'))
  const [api, worker] = [String(await freePort()), String(await freePort())]
  const [, setUp = '', roles = ''] = blocks('sh')
  const typed = [setUp.replace(/^export DATABASE_URL=.*$/m, `export DATABASE_URL='${url}'`), roles]
    .join('')
    .replaceAll('4000', api)
    .replaceAll('4001', worker)
  // Ended as an operator does: in order, and waited for.
  const script = `set -eo pipefail\n${typed}\nkill $(jobs -p)\nwait`
  const env = {
    PATH: `${join(root, 'bin')}:${process.env['PATH']}`,
    HOME: home,
    HOST: '127.0.0.1',
    SWITCHYARD_DATA_DIR: join(home, 'data'),
    SWITCHYARD_DRAIN_DELAY_MS: '0',
  }
  const child = spawn('bash', ['-c', script], { cwd: root, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
  const output: string[] = []
  for (const stream of [child.stdout, child.stderr]) stream.on('data', chunk => output.push(String(chunk)))
  const tooLong = setTimeout(() => process.kill(-Number(child.pid), 'SIGKILL'), 300_000)
  const [code] = await once(child, 'close')
  clearTimeout(tooLong)
  const said = output.join('')
  try {
    assert.equal(code, 0, said)
    assert.match(said, /"status":"idle"/)
    for (const statement of blocks('sql')) {
      const { rows } = await pool.query<{ application_name: string }>(statement)
      assert.ok(rows.length > 0)
    }
  } finally {
    await rm(home, { recursive: true, force: true, maxRetries: 5 })
  }
})
