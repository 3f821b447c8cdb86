import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { dockerForTests, lackEngine } from '../../../../test/support/docker/docker-for-tests.ts'
import { type Fault, fakeImage } from '../../../../test/support/docker/fake-engine.ts'
import { networkForTests, sessionWith, upstreamForTests } from '../../../../test/support/network/network.ts'
import { tlsForTests } from '../../../../test/support/network/tls-upstream.ts'
import { eventually } from '../../../../test/support/service/eventually.ts'
import { lack } from '../../../../test/support/service/lack.ts'
import { createSandboxes } from '../sandboxes.ts'
import { isRunning, quiet, sandboxesForTests, temporaryFolder } from '../sandboxes-for-tests.ts'
import { frameReader } from './frames.ts'

const needsEngine = { skip: lackEngine }
const longSleep = () => `sleep 9${String(process.hrtime.bigint()).slice(-8)}`

interface CreateBody {
  readonly User: string
  readonly HostConfig: Readonly<Record<string, unknown>>
}

test('S35: a container has no privileges, no network, a read-only system and limits', needsEngine, async () => {
  const { engine, settings } = await dockerForTests({ docker: { runtime: 'runsc', user: '4242:4242' } })
  const sandboxes = await sandboxesForTests('docker', { settings })
  const sandbox = await sandboxes.open('ses_1')
  assert.equal((await sandbox.exec({ command: 'id -u' })).output, '4242\n')
  const created = engine.requests.findLast(({ path }) => path === '/containers/create')
  assert(created)
  const { User, HostConfig: host } = created.body as CreateBody
  assert.equal(User, '4242:4242')
  const { Memory, MemorySwap, PidsLimit, NanoCpus, ...others } = host
  assert.equal(Memory, 2048 * 1024 * 1024)
  assert.equal(MemorySwap, Memory)
  assert.equal(PidsLimit, 512)
  assert(Number(NanoCpus) > 0)
  for (const [name, value] of Object.entries({
    NetworkMode: 'none',
    ReadonlyRootfs: true,
    CapDrop: ['ALL'],
    CapAdd: [],
    SecurityOpt: ['no-new-privileges'],
    Privileged: false,
    Runtime: 'runsc',
  }))
    assert.deepEqual(others[name], value, name)
  assert.match(sandboxes.detail, /runtime runsc/)
})

test('containers are removed after their command', needsEngine, async () => {
  const { engine, settings } = await dockerForTests()
  const sandbox = await (await sandboxesForTests('docker', { settings })).open('ses_1')
  await Promise.all(['true', 'exit 3', 'kill -KILL $$'].map(command => sandbox.exec({ command })))
  await eventually(async () => engine.containers.size === 0)
})

test(
  'a start removes the containers of killed servers with the same data folder, and no others',
  needsEngine,
  async () => {
    const { engine, settings } = await dockerForTests()
    const [workspacesDir, other] = [await temporaryFolder(), await temporaryFolder()]
    const source = `
    import { createSandboxes } from ${JSON.stringify(new URL('../sandboxes.ts', import.meta.url).href)}
    const [, workspacesDir, settings] = process.argv
    const log = { info() {}, warn() {} }
    const sandboxes = await createSandboxes({ workspacesDir, log, prefer: 'docker', settings: JSON.parse(settings) })
    await (await sandboxes.open('ses_1')).exec({ command: 'touch started; sleep 600' })`
    const startServer = async (folder: string) => {
      const before = engine.containers.size
      const args = ['--input-type=module', '-e', source, folder, JSON.stringify(settings)]
      const server = spawn(process.execPath, args, { stdio: 'ignore', env: {} })
      after(() => server.kill('SIGKILL'))
      // Two servers share a folder, so the file alone may be that of the other one.
      const isOwn = () => engine.containers.size > before && existsSync(join(folder, 'ses_1', 'started'))
      await eventually(async () => isOwn())
      return server
    }
    const [killed, living, elsewhere] = [
      await startServer(workspacesDir),
      await startServer(workspacesDir),
      await startServer(other),
    ]
    // A removal that cannot work: the container of the killed server stays.
    engine.setFaults(method => (method === 'DELETE' ? 'reset' : undefined))
    killed.kill('SIGKILL')
    elsewhere.kill('SIGKILL')
    await Promise.all([once(killed, 'exit'), once(elsewhere, 'exit')])
    engine.setFaults(() => undefined)
    assert.equal(engine.containers.size, 3)
    const sandboxes = await createSandboxes({ workspacesDir, log: quiet, prefer: 'docker', settings })
    after(() => sandboxes.stopAll())
    await eventually(async () => engine.containers.size === 2)
    assert.equal(living.exitCode, null)
  },
)

test('the network of an agent passes the proxy, from a container that has no other', {
  skip: lackEngine || lack('socat'),
}, async () => {
  const { settings } = await dockerForTests()
  const { host, port } = await upstreamForTests((_request, response) => response.end('from outside'))
  const { run, sandboxes } = await networkForTests({
    driver: 'docker',
    names: ['api.example.com'],
    settingsFor: async () => settings,
  })
  assert.equal(sandboxes.hasNetwork, true)
  const network = { type: 'limited', allowed_hosts: [{ host: 'api.example.com', ports: [port] }] }
  const get = `curl -s http://api.example.com:${port}/`
  assert.deepEqual(await run(network, get), { output: 'from outside', exitCode: 0 })
  assert.notEqual((await run(network, `curl -sf http://other.example.com/`, 'ses_two')).exitCode, 0)
  assert.notEqual((await run(network, `curl -sf --noproxy '*' http://${host}/`, 'ses_two')).exitCode, 0)
  assert.equal((await run(network, 'ls /run/switchyard-network', 'ses_two')).exitCode, 2)
  assert.equal((await run(undefined, 'env | grep -ci proxy', 'ses_three')).output, '0\n')
})

test('a host gets the secret of an agent over HTTPS, and containers trust the authority of their network', {
  skip: lackEngine || lack('socat'),
}, async () => {
  const { settings } = await dockerForTests()
  const tls = await tlsForTests()
  const seen: (string | undefined)[] = []
  const { port } = await tls.serve('api.example', ({ headers }, response) => {
    seen.push(headers.authorization)
    response.end('from outside')
  })
  const vault = { TOKEN: 'tok-0123456789' }
  const { run, sandboxes } = await networkForTests({
    driver: 'docker',
    names: ['api.example'],
    vault,
    ca: tls.ca,
    settingsFor: async () => settings,
  })
  const secret = { vault_key: 'TOKEN', host: 'api.example', header: 'authorization', auth_type: 'bearer_token' }
  const network = { type: 'limited', allowed_hosts: [{ host: 'api.example', ports: [port] }], secrets: [secret] }
  const get = `curl -sS https://api.example:${port}/`
  assert.deepEqual(await run(network, get), { output: 'from outside', exitCode: 0 })
  assert.equal((await run(network, 'ls /run/switchyard-network')).output, 'authority.pem\nca-certificates.pem\n')
  const setup = [`${get} > /opt/fetched`, 'ls /run/switchyard-network']
  const session = { ...sessionWith(network, 'ses_two'), config: { network, sandbox: { setup } } }
  const sandbox = await sandboxes.open('ses_two', session)
  assert.equal((await sandbox.exec({ command: 'cat /opt/fetched' })).output, 'from outside')
  const place = await sandbox.programPlace('sandbox')
  const program = await place.start({ command: `exec ${get} -o /dev/null`, env: {}, readable: [] })
  assert.deepEqual(await program.exited, { code: 0 }, program.errors())
  assert.deepEqual(seen, Array(3).fill('Bearer tok-0123456789'))
})

const unusable: readonly (readonly [what: string, wanted: Parameters<typeof dockerForTests>[0], reason: RegExp])[] = [
  [
    'a missing socket',
    { docker: { socket: '/nowhere/docker.sock' } },
    /engine at \/nowhere\/docker\.sock cannot be used/,
  ],
  ['an engine that is too old', { engine: { apiVersion: '1.38' } }, /speaks API 1\.38; update it to 1\.41/],
  ['an unknown runtime', { docker: { runtime: 'missing' } }, /trial run failed: .*runtime name/],
  ['a missing image', { engine: { images: [] } }, /image fake:1 cannot be pulled/],
  [
    'a missing image that must not be pulled',
    { engine: { images: [] }, docker: { pull: false } },
    /sandbox\.docker\.pull is never/,
  ],
]

for (const [what, wanted, reason] of unusable) {
  test(`the start fails with ${what}, without a fallback to another driver`, needsEngine, async () => {
    const { settings } = await dockerForTests(wanted)
    const created = createSandboxes({ workspacesDir: await temporaryFolder(), log: quiet, prefer: 'docker', settings })
    await assert.rejects(created, (error: Error & { code: string }) => {
      assert.equal(error.code, 'unavailable')
      assert.match(error.message, /^sandbox driver docker: /)
      assert.match(error.message, reason)
      return true
    })
  })
}

test('an image without a shell is named', needsEngine, async () => {
  const image = 'no-shell:1'
  const { settings } = await dockerForTests({ engine: { images: [fakeImage, image] }, images: [image] })
  const sandboxes = await sandboxesForTests('docker', { settings })
  const session = {
    id: 'ses_1',
    owner_id: 'user-1',
    agent_id: 'agt_1',
    config: { sandbox: { image } },
    environment: {},
  }
  const sandbox = await sandboxes.open('ses_1', session)
  await assert.rejects(sandbox.exec({ command: 'true' }), {
    code: 'unavailable',
    message: /no-shell:1 has no \/bin\/sh/,
  })
})

const faults: readonly (readonly [what: string, path: RegExp, fault: Fault])[] = [
  ['closes the connection of a creation', /create$/, 'reset'],
  ['answers garbage to a creation', /create$/, 'garbage'],
  ['closes the connection of an attachment', /attach$/, 'reset'],
  ['closes the connection of a start', /start$/, 'reset'],
]

for (const [what, path, fault] of faults) {
  test(`an engine that ${what} fails the command, and the next one runs`, needsEngine, async () => {
    const { engine, settings } = await dockerForTests()
    const sandbox = await (await sandboxesForTests('docker', { settings })).open('ses_1')
    engine.setFaults((_method, at) => (path.test(at) ? fault : undefined))
    await assert.rejects(sandbox.exec({ command: 'true' }), {
      code: 'unavailable',
      message: /Docker engine does not respond/,
    })
    engine.setFaults(() => undefined)
    assert.equal((await sandbox.exec({ command: 'echo fine' })).output, 'fine\n')
    await eventually(async () => engine.containers.size === 0)
  })
}

test('an engine that restarts while a command runs loses nothing of its exit code', needsEngine, async () => {
  const { engine, settings } = await dockerForTests()
  const sandbox = await (await sandboxesForTests('docker', { settings })).open('ses_1')
  let waits = 0
  engine.setFaults((_method, path) => (path.endsWith('/wait') && ++waits < 3 ? 'reset' : undefined))
  const { exitCode, output } = await sandbox.exec({ command: 'sleep 0.2; echo done; exit 4' })
  assert.deepEqual([exitCode, output], [4, 'done\n'])
})

test('an output stream that cannot be read ends the command', needsEngine, async () => {
  const { engine, settings } = await dockerForTests()
  const marker = longSleep()
  const sandbox = await (await sandboxesForTests('docker', { settings })).open('ses_1')
  engine.setFaults((_method, path) => (path.endsWith('/attach') ? 'garbage' : undefined))
  const { exitCode } = await sandbox.exec({ command: marker })
  assert.notEqual(exitCode, 0)
  assert.equal(await isRunning(marker), false)
})

test('an engine that dies or hangs while a command runs fails it in bounded time', needsEngine, async () => {
  const failing = async (fail: (engine: Awaited<ReturnType<typeof dockerForTests>>['engine']) => Promise<void>) => {
    const { engine, settings } = await dockerForTests()
    const sandbox = await (await sandboxesForTests('docker', { settings })).open('ses_1')
    const running = sandbox.exec({ command: 'touch started; sleep 600', timeoutMs: 2_000 })
    running.catch(() => undefined)
    await eventually(async () => (await sandbox.files.list('.', { skip: new Set() })).paths.includes('started'))
    await fail(engine)
    await assert.rejects(running, { code: 'unavailable', message: /Docker engine does not respond/ })
    engine.setFaults(() => undefined)
  }
  await Promise.all([
    failing(async engine => engine.setFaults(() => 'reset')),
    failing(async engine => engine.setFaults((_method, path) => (/wait$|kill$|exec$/.test(path) ? 'hang' : undefined))),
  ])
})

test('frames are read across any chunk borders, and other bytes are rejected', () => {
  const frame = (stream: number, text: string) => {
    const header = Buffer.from([stream, 0, 0, 0, 0, 0, 0, 0])
    header.writeUInt32BE(text.length, 4)
    return Buffer.concat([header, Buffer.from(text)])
  }
  const bytes = Buffer.concat([frame(1, 'hello '), frame(2, 'oops'), frame(1, ''), frame(1, 'world')])
  for (let size = 1; size <= bytes.length; size++) {
    const seen = { stdout: '', stderr: '' }
    const read = frameReader((name, part) => {
      seen[name] += part.toString()
    })
    for (let at = 0; at < bytes.length; at += size) read(bytes.subarray(at, at + size))
    assert.deepEqual(seen, { stdout: 'hello world', stderr: 'oops' }, String(size))
  }
  assert.throws(() => frameReader(() => undefined)(Buffer.from('<html></html>')), /cannot be read/)
})
