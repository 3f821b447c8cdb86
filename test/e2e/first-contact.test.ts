import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { notBehindProxy } from '../support/contract/contract-tests.ts'
import { eventually } from '../support/service/eventually.ts'
import { programFile } from '../support/service/program.ts'
import { send } from '../support/service/send.ts'
import { startService } from '../support/service/service.ts'
import { type Ended, runSwitchyard } from '../support/service/switchyard-program.ts'

const folder = await mkdtemp(join(tmpdir(), 'switchyard-first-contact-'))
await chmod(folder, 0o711)
after(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }))
let folders = 0
const freshFolder = (): string => join(folder, `data-${++folders}`)

/** Runs a command line of the real program to its end. */
const switchyard = (args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Ended> =>
  runSwitchyard(args, { HOME: folder, PORT: '0', LOG_LEVEL: 'info', ...env })

/** The one line that explains a failed start: not a warning, not a stack. */
function failureOf({ code, stderr }: Ended): string {
  assert.equal(code, 1, stderr)
  const lines = stderr.split('\n').filter(line => line !== '' && !line.startsWith('! '))
  assert.equal(lines.length, 1, stderr)
  return lines[0] ?? ''
}

/** An embedded database, whose folder belongs to one service. */
const embedded = () => ({ databaseUrl: '', dataDir: freshFolder(), env: { DATABASE_URL: undefined } })

test('E3: commands find the service of their data folder, and a second start names it', {
  skip: notBehindProxy('commands find the service, not the proxy'),
}, async t => {
  const options = embedded()
  const service = await startService(options)
  t.after(() => service.stop())
  const env = { SWITCHYARD_DATA_DIR: options.dataDir, GATEWAY_MASTER_KEY: service.key }

  const listed = await switchyard(['agents', 'ls', '--json'], env)
  assert.equal(listed.code, 0, listed.stderr)

  const expected = `already running at ${service.url} (process ${service.pid}); stop it first`
  assert.ok(failureOf(await switchyard(['serve'], env)).startsWith(expected))
  const json = await switchyard(['--json', 'serve', '--data-dir', options.dataDir])
  assert.match(JSON.parse(json.stderr).error.message, /^already running at /)

  await service.stop()
  assert.deepEqual(await readdir(join(options.dataDir, 'running')), [])
})

test('E3: the address of a killed service is not used', async t => {
  const options = embedded()
  const service = await startService(options)
  t.after(() => service.kill())
  await service.kill()
  const again = await startService(options)
  t.after(() => again.stop())
  assert.notEqual(again.pid, service.pid)
  assert.equal((await readdir(join(options.dataDir, 'running'))).length, 1)
})

test('E3: without a running service the port of PORT is asked', async () => {
  const { stderr } = await switchyard(['agents', 'ls'], { PORT: '9', SWITCHYARD_DATA_DIR: freshFolder() })
  assert.match(stderr, /127\.0\.0\.1:9\b/)
})

test('E4: GET / sends a browser to the reference when the console is off', async () => {
  const service = await startService()
  const { status, headers } = await send(service, 'GET /', { headers: { accept: 'text/html' } })
  assert.deepEqual([status, headers['location']], [302, '/docs'])
})

test('E4: each request has one line with its id; the level is a word, and neither query nor key appears', async () => {
  const service = await startService()
  const { headers } = await send(service, 'GET /api/agents?limit=3')
  const id = String(headers['request-id'])
  await eventually(() => service.logs().includes(id))
  const lines = service
    .logs()
    .split('\n')
    .filter(line => line.includes(id))
  assert.equal(lines.length, 1)
  const { level, method, path, status, msg, caller } = JSON.parse(lines[0] ?? '')
  assert.deepEqual(
    { level, method, path, status, msg, caller },
    {
      level: 'info',
      method: 'GET',
      path: '/api/agents',
      status: 200,
      msg: 'request',
      caller: undefined,
    },
  )
  assert.ok(!service.logs().includes(service.key))
})

test('E4: logging.requests and logging.sample choose which requests are logged', async () => {
  const config = JSON.stringify({ logging: { requests: 'info', sample: 0 } })
  const service = await startService({ config })
  const { headers } = await send(service, 'GET /api/agents')
  await service.stop()
  assert.ok(!service.logs().includes(String(headers['request-id'])))
})

test('E4: a data folder that is a file is named in one line, with the next step', async () => {
  const file = join(folder, 'file')
  await writeFile(file, 'not a folder')
  const line = failureOf(await switchyard(['serve', '--data-dir', file]))
  assert.match(
    line,
    /data folder .*\/file is not a folder; choose another folder with --data-dir or SWITCHYARD_DATA_DIR$/,
  )
})

test('E4: a taken port is named before the database is built', async t => {
  const other = createServer().listen(0, '127.0.0.1')
  await once(other, 'listening')
  t.after(() => other.close())
  const { port } = other.address() as AddressInfo
  const dataDir = freshFolder()
  const line = failureOf(await switchyard(['serve', '--data-dir', dataDir, '--port', String(port)]))
  assert.match(line, new RegExp(`port ${port} is in use by another program; stop it, or choose another port`))
  assert.deepEqual(await readdir(dataDir), [])
})

test('E4: a closed DATABASE_URL is named at once with --no-wait, without its password', async () => {
  const env = { DATABASE_URL: 'postgres://someone:hush-hush@127.0.0.1:1/nothing', SWITCHYARD_DATA_DIR: freshFolder() }
  const line = failureOf(await switchyard(['serve', '--no-wait'], env))
  assert.match(
    line,
    /cannot reach the database of DATABASE_URL at 127\.0\.0\.1:1: .*ECONNREFUSED.*; check that the database runs/,
  )
  assert.ok(!line.includes('hush-hush'))
})

test('E4: a closed DATABASE_URL is retried, and a stop ends the wait', async () => {
  const child = spawn(process.execPath, [programFile, 'serve', '--no-console'], {
    env: {
      PATH: process.env['PATH'],
      HOME: folder,
      PORT: '0',
      DATABASE_URL: 'postgres://someone@127.0.0.1:1/nothing',
      SWITCHYARD_DATA_DIR: freshFolder(),
    },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let output = ''
  child.stderr.on('data', chunk => {
    output += chunk
  })
  await eventually(() =>
    /cannot reach the database of DATABASE_URL at 127\.0\.0\.1:1: .*; retrying for 60 s/.test(output),
  )
  child.kill('SIGTERM')
  const [code] = await once(child, 'exit')
  assert.equal(code, 1)
})

test('C4: a service without peers does not wait for a load balancer when it stops', async () => {
  const service = await startService({ env: { SWITCHYARD_DRAIN_DELAY_MS: '600000' } })
  assert.equal(await service.stop(), 0)
})
