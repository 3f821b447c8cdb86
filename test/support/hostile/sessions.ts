import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { hostileCalls } from '../network/hostile-calls.ts'
import { type Canary, scan } from '../secrets/canaries.ts'
import { filePlaces, type Place, tablePlaces } from '../secrets/canary-places.ts'
import { approvalAttacks } from './approvals.ts'
import type { HostileDriver } from './drivers.ts'
import { fileAttacks } from './files.ts'
import { inputAttacks } from './inputs.ts'
import { reachAttacks } from './reach.ts'
import { call, type Outcome, type Scene, startScene } from './scene.ts'

interface Options {
  /** True: also every call of `hostileCalls`, which takes most of a minute for each driver. */
  readonly withCalls: boolean
}

/** Tests that no attack of a hostile model through the sessions of a running service has success, on each driver. */
export async function testHostileSessions(drivers: readonly HostileDriver[], { withCalls }: Options): Promise<void> {
  const scenes: Scene[] = []
  // All before the first test: the runner ends what is started when its tests have ended.
  for (const driver of drivers) if (!driver.skip) scenes.push(await startScene(driver))
  for (const scene of scenes) await testScene(scene, withCalls)
}

async function testScene(scene: Scene, withCalls: boolean): Promise<void> {
  const { name: driver } = scene.driver
  if (withCalls) await testCalls(scene)
  const attacks = [
    await approvalAttacks(scene),
    await reachAttacks(scene),
    await fileAttacks(scene),
    await inputAttacks(scene),
  ].flat()
  for (const { name, run } of attacks) test(`${driver}: ${name}, in a session without success`, run)
  test(`${driver}: no secret and no text of another owner is in what the model, its servers and the log saw`, () =>
    findNothing(scene))
}

/** Every call of the hostile model in one session, a turn each. */
async function testCalls(scene: Scene): Promise<void> {
  const { driver, hostFolder, service, victim } = scene
  const reached: string[] = []
  const listening = async (name: string, listen: (server: Server) => void): Promise<Server> => {
    const server = createServer(socket => {
      reached.push(name)
      socket.on('error', () => undefined)
      socket.end(`HTTP/1.0 200 OK\r\n\r\n${scene.hostSecret}\n`)
    })
    await new Promise<void>(resolve => {
      server.once('listening', resolve)
      listen(server)
    })
    after(() => server.close())
    return server
  }
  const loopback = await listening('loopback', server => server.listen(0, '127.0.0.1'))
  const socket = join(scene.folder, 'host.sock')
  await listening('unix socket', server => server.listen({ path: socket, readableAll: true, writableAll: true }))
  const abstract = `switchyard-hostile-session-${driver.name}-${process.pid}`
  await listening('abstract socket', server => server.listen(`\0${abstract}`))
  const { port } = loopback.address() as { port: number }

  const calls = hostileCalls({
    folder: hostFolder,
    workspaces: join(service.dataDir, 'workspaces'),
    other: victim.session,
    port,
    socket,
    abstract,
    pids: [service.pid, process.pid],
  })
  const allowed = ['rebound.example', 'allowed.example'].map(host => ({ host, ports: [port, 80, 1] }))
  const config = driver.hasNetwork ? { network: { type: 'limited', allowed_hosts: allowed } } : {}
  const agent = await scene.newAgent({ name: 'Caller of all', config })
  const running = scene.run(
    agent.id,
    calls.map(({ tool, input }, at) => call(tool, input, `toolu_${at}`)),
  )
  running.catch(() => undefined)

  let outcome: Outcome | undefined
  test(`${driver.name}: a session makes all calls of the hostile model and still works`, async () => {
    outcome = await running
    assert.deepEqual(reached, [], 'something outside of the sandbox was reached')
    assert.deepEqual(await readdir(hostFolder), ['secret'])
    assert.equal(await readFile(join(hostFolder, 'secret'), 'utf8'), scene.hostSecret)
    assert.deepEqual(await readdir(scene.workspace(victim.session)), ['secret'])
  })
  for (const [at, { name }] of calls.entries())
    test(`${driver.name}: ${name}, in a session without success`, () => {
      const { text } = outcome?.result(`toolu_${at}`) ?? assert.fail('the call has no result')
      assert.ok(!text.includes(scene.hostSecret) && !text.includes(victim.text), text.slice(0, 2_000))
    })
}

const ofVictim = /of the victim$/
/** Files of the service that only its own user reads, and that no session can name. */
const own = /^file (test-config\.yaml|data\/test-config\.yaml)/

async function findNothing(scene: Scene): Promise<void> {
  const { upstream, service, canaries, ownTools, foreignTools } = scene
  const ofModel = upstream.requests.filter(({ body }) => body['model'] === 'scripted')
  assert.ok(ofModel.length > 50, 'the model was called')
  const seen: Place[] = [
    ...ofModel.map(({ rawBody }, at): Place => [`request ${at} to the model`, rawBody]),
    ...[...ownTools.requests, ...foreignTools.requests].map(({ text }, at): Place => [`request ${at} to MCP`, text]),
    ['log of the service', service.logs()],
  ]
  const hidden = canaries.filter(({ name }) => !name.startsWith('key of the provider'))
  assert.deepEqual(scan(seen, hidden).findings, [])
  const secrets = canaries.filter(({ name }) => !ofVictim.test(name))
  const encryptionKey = canaries.find(({ name }) => name === 'encryption key') as Canary
  const { tables } = await tablePlaces(service.databaseUrl, encryptionKey.core)
  const files = filePlaces(service.dataDir).filter(([name]) => !own.test(name))
  assert.deepEqual(scan([...tables, ...files], secrets).findings, [])
}
