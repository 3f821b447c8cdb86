import assert from 'node:assert/strict'
import { test } from 'node:test'
import { noService, runLine, scriptedService } from '../../test/support/service/command-line.ts'
import type { Config } from '../server/config/config.ts'
import type { Finding } from '../server/doctor.ts'
import { bannerLines } from './banner.ts'
import { exitCodes } from './exit-codes.ts'
import { CommandFailed } from './failures.ts'
import type { LocalService } from './local-service.ts'

const config = {
  masterKey: 'sk-secret-key',
  insecureNoAuth: false,
  dataDir: '/data',
  warnings: ['the master key is weak'],
}

/** A server that starts at once; `stopped` records its stop. */
function startable(seen: { overrides?: object; stopped?: boolean; reloads?: number } = {}): LocalService {
  return {
    ...noService,
    configure: async ({ overrides }) => {
      seen.overrides = overrides
      return config as unknown as Config
    },
    start: async () => ({
      url: 'http://localhost:4000',
      database: 'embedded',
      sandboxDriver: 'virtual',
      models: ['demo'],
      workers: 1,
      lost: new AbortController().signal,
      reload: () => {
        seen.reloads = (seen.reloads ?? 0) + 1
      },
      stop: async () => {
        seen.stopped = true
      },
    }),
  }
}

test('serve prints its address and how to call it, stops on request, and never prints the key', async () => {
  const seen: { overrides?: object; stopped?: boolean } = {}
  const stop = AbortSignal.abort()
  const args = ['serve', '--port', '4100', '--host', '::1', '--data-dir', 'd', '--config', 'c', '--insecure-no-auth']
  const { code, stdout, stderr } = await runLine(args, { server: startable(seen), stop })
  assert.equal(code, 0)
  assert.equal(seen.stopped, true)
  assert.deepEqual(seen.overrides, { configFile: 'c', dataDir: 'd', port: 4100, host: '::1', insecureNoAuth: true })
  assert.match(stdout, /Switchyard is ready at http:\/\/localhost:4000\n.*\/docs/)
  assert.match(stderr, /! the master key is weak/)
  assert.doesNotMatch(stdout + stderr, /sk-secret/)
})

test('serve reloads its configuration on SIGHUP', async () => {
  const seen: { reloads?: number } = {}
  const onHangUp = (listener: () => void) => listener()
  await runLine(['serve'], { server: startable(seen), stop: AbortSignal.abort(), onHangUp })
  assert.equal(seen.reloads, 1)
})

test('serve fails when the server cannot continue', async () => {
  const seen: { stopped?: boolean } = {}
  const server = startable(seen)
  const lost = AbortSignal.abort(new Error('the data folder was taken'))
  const start: LocalService['start'] = async given => ({ ...(await server.start(given)), lost })
  const { code, stderr } = await runLine(['serve'], { server: { ...server, start } })
  assert.equal(code, 1)
  assert.equal(seen.stopped, true)
  assert.match(stderr, /service cannot continue: the data folder was taken/)
})

test('serve --json prints one line with the address', async () => {
  const { stdout } = await runLine(['serve', '--json'], { server: startable(), stop: AbortSignal.abort() })
  const { type, url } = JSON.parse(stdout)
  assert.deepEqual({ type, url }, { type: 'switchyard.listening', url: 'http://localhost:4000' })
})

test('a failed start prints one message without a stack and returns exit code 1', async () => {
  const start = () =>
    Promise.reject(new CommandFailed('The service did not start: port 4000 is in use', exitCodes.failed))
  const { code, stdout, stderr } = await runLine(['serve'], { server: { ...startable(), start } })
  assert.deepEqual(
    { code, stdout, stderr },
    { code: 1, stdout: '', stderr: '! the master key is weak\nThe service did not start: port 4000 is in use\n' },
  )
})

const facts = {
  url: 'http://localhost:4000',
  database: 'embedded',
  sandboxDriver: 'bubblewrap',
  models: ['demo'],
  workers: 1,
} as const
const settings = { masterKey: undefined, insecureNoAuth: false, dataDir: '/data', console: true }
const banner = (...parts: Parameters<typeof bannerLines>) =>
  bannerLines(...parts)
    .map(line => line.map(({ text }) => text).join(''))
    .join('\n')

test('the banner states missing authentication, scripted models and simulated shells', () => {
  assert.match(banner(facts, settings), /authentication is off; loopback only/)
  assert.match(banner(facts, { ...settings, insecureNoAuth: true }), /AUTHENTICATION IS OFF/)
  assert.match(banner(facts, { ...settings, masterKey: 'k' }), /a key is required/)
  assert.match(banner(facts, settings), /console +http:\/\/localhost:4000$/m)
  assert.doesNotMatch(banner(facts, { ...settings, console: false }), /console/)
  assert.match(banner(facts, settings), /demo \(scripted responses/)
  assert.match(banner({ ...facts, models: [] }, settings), /none; set a provider key/)
  assert.match(banner({ ...facts, models: ['1', '2', '3', '4', '5', '6', '7'] }, settings), /5, 6, and 1 more/)
  assert.match(banner({ ...facts, sandboxDriver: 'virtual' }, settings), /without real programs/)
  assert.match(banner({ ...facts, workers: 4 }, settings), /4 processes/)
})

test('the next step of the banner also works on another port', () => {
  assert.doesNotMatch(banner(facts, settings), /--url/)
  assert.match(
    banner({ ...facts, url: 'http://localhost:4100' }, settings),
    /quickstart -- ".*" --url http:\/\/localhost:4100/,
  )
})

const fine: Finding = { name: 'sandbox', state: 'ok', detail: 'bubblewrap' }
const broken: Finding = { name: 'data folder', state: 'fail', detail: '/x: no\nsecond line', next: 'make it writable' }
const taken: Finding = { name: 'port', state: 'fail', detail: '4000 is used by another program', next: 'another one' }

/** A server whose checks return `findings`. */
const examined = (...findings: Finding[]): LocalService => ({
  ...noService,
  examine: async () => findings,
  examinePort: async () => taken,
})

const ready = scriptedService({ 'GET /health/ready': () => Response.json({ status: 'ok' }) })

test('doctor returns exit code 0 when no check fails, and does not check the port of a running service', async () => {
  const { code, stdout } = await runLine(['doctor'], { server: examined(fine), fetch: ready.fetch })
  assert.equal(code, 0)
  assert.match(stdout, /^ok +Node\.js: 24\.0\.0\nok +sandbox: bubblewrap\nok +service: ready/)
  assert.doesNotMatch(stdout, /port/)
})

test('doctor includes the providers that are stored in the running service', async () => {
  const providers = [
    { id: 'openai', connected: true },
    { id: 'gemini', connected: false },
  ]
  const service = scriptedService({
    'GET /health/ready': () => Response.json({ status: 'ok' }),
    'GET /api/providers': () => Response.json({ providers }),
  })
  const server: LocalService = {
    ...examined(),
    examine: async ({ storedProviders }) => [{ name: 'model providers', state: 'ok', detail: storedProviders.join() }],
  }
  assert.match((await runLine(['doctor'], { server, fetch: service.fetch })).stdout, /^ok +model providers: openai$/m)
  assert.match((await runLine(['doctor'], { server, fetch: ready.fetch })).stdout, /^ok +model providers: $/m)
})

test('doctor returns exit code 1 when a check fails, with the next step', async () => {
  const { code, stdout } = await runLine(['doctor'], { server: examined(broken), fetch: ready.fetch })
  assert.equal(code, 1)
  assert.match(stdout, /FAIL +data folder: \/x: no\n +second line\n +→ make it writable/)
})

test('doctor reports that no service runs, and checks the port', async () => {
  const { code, stdout } = await runLine(['doctor'], { server: examined(fine) })
  assert.equal(code, 1)
  assert.match(stdout, /warn +service: not running at .*\n +→ start it: npm start\nFAIL +port/)
})

test('doctor fails for a Node version that is too old', async () => {
  const { code, stdout } = await runLine(['doctor'], { server: examined(), fetch: ready.fetch, nodeVersion: '22.9.0' })
  assert.equal(code, 1)
  assert.match(stdout, /FAIL +Node\.js: 22\.9\.0/)
})

test('doctor --deep reports why the stored data cannot be checked, after the other checks', async () => {
  const checkDatabase = () => Promise.reject(new CommandFailed('could not check the database: it does not run'))
  const backups = { ...noService.backups, checkDatabase }
  const server = { ...examined(fine), configure: startable().configure, backups }
  const { code, stdout } = await runLine(['doctor', '--deep'], { server, fetch: ready.fetch })
  assert.equal(code, 1)
  assert.match(stdout, /ok +sandbox.*FAIL {2}stored data: not checked: could not check the database: it does not run/s)
})

test('doctor --json prints one object with all findings', async () => {
  const { stdout } = await runLine(['doctor', '--json'], { server: examined(broken), fetch: ready.fetch })
  const { ok, findings } = JSON.parse(stdout)
  assert.equal(ok, false)
  assert.deepEqual(findings[1], broken)
})

test('migrate applies migrations with their time, and with --plan lists them with their locks', async () => {
  const modes: string[] = []
  const server: LocalService = {
    ...startable(),
    async upgrade(_config, mode) {
      modes.push(mode)
      const locks = [{ table: 'sessions', mode: 'ShareLock', blocks: 'writes' } as const]
      const more = { name: '0002-more.sql', locks, ms: mode === 'plan' ? null : 12 }
      const added = { name: '0003-added.sql', locks: [], ms: mode === 'plan' ? null : 3 }
      return { database: 'external', migrations: [more.name, added.name], steps: [more, added] }
    },
  }
  assert.deepEqual((await runLine(['migrate', '--plan'], { server })).stdout.split('\n'), [
    'Pending migrations:',
    '  0002-more.sql',
    '    locks sessions (ShareLock): writes wait',
    '  0003-added.sql',
    '    locks no existing table',
    '',
  ])
  assert.match((await runLine(['migrate'], { server })).stdout, /^Applied migrations:\n {2}0002-more\.sql {2}12 ms\n/)
  assert.deepEqual(modes, ['plan', 'apply'])
})
