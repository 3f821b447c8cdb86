import assert from 'node:assert/strict'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { ByteGate } from '../../../src/server/platform/byte-gate.ts'
import { isRunning, quiet, temporaryFolder } from '../../../src/server/sandboxes/sandboxes-for-tests.ts'
import { defaultToolLimits, toolMemoryBytes } from '../../../src/server/tools/tool.ts'
import { servicesForTests } from '../../../src/server/tools/tools-for-tests.ts'
import { builtinTools } from '../../../src/server/tools/toolset.ts'
import type { HostileDriver } from '../hostile/drivers.ts'
import { hostileCalls } from './hostile-calls.ts'
import { networkForTests, sessionWith } from './network.ts'

const canary = 'canary-5f1c9e'
const other = 'ses_other'
const minCalls = 60

/** Tests that no call of a hostile model has success in the sandbox of this driver, with a network of one host. */
export async function testHostileModel({ name: driver, prepare }: HostileDriver): Promise<void> {
  const folder = await temporaryFolder()
  await writeFile(join(folder, 'secret'), canary)
  const reached: string[] = []
  const server = async (listen: (server: Server) => void, name: string) => {
    const made = createServer(socket => {
      reached.push(name)
      socket.on('error', () => undefined)
      socket.end(`HTTP/1.0 200 OK\r\n\r\n${canary}\n`)
    })
    await new Promise<void>(resolve => {
      made.once('listening', resolve)
      listen(made)
    })
    after(() => made.close())
    return made
  }
  const loopback = await server(made => made.listen(0, '127.0.0.1'), 'loopback')
  const { port } = loopback.address() as { port: number }
  const socket = join(folder, 'host.sock')
  await server(made => made.listen({ path: socket, readableAll: true, writableAll: true }), 'unix socket')
  const abstract = `switchyard-hostile-${driver}-${process.pid}`
  await server(made => made.listen(`\0${abstract}`), 'abstract socket')

  const resolved: string[] = []
  const { sandboxes, workspacesDir } = await networkForTests({
    driver,
    settingsFor: async dir => (await prepare(dir)).settings,
    lookup(name, _options, done) {
      resolved.push(name)
      done(null, [{ address: '127.0.0.1', family: 4 }])
    },
    innerHosts: [
      {
        name: 'inner.switchyard.internal',
        isFor: ({ id }) => id === other,
        serve: (_, response) => response.end(canary),
      },
    ],
  })
  await sandboxes.open(other)
  const foreign = join(workspacesDir, other)
  await writeFile(join(foreign, 'secret'), canary)
  await mkdir(join(workspacesDir, 'ses_one'), { recursive: true })

  const allowed = ['rebound.example', 'allowed.example'].map(host => ({ host, ports: [port, 80, 1] }))
  const session = sessionWith(sandboxes.hasNetwork ? { type: 'limited', allowed_hosts: allowed } : undefined)
  const calls = hostileCalls({
    folder,
    workspaces: workspacesDir,
    other,
    port,
    socket,
    abstract,
    pids: [process.pid, process.ppid],
  })
  const call = async (name: string, input: unknown): Promise<string> => {
    const tool = builtinTools.find(each => each.name === name)
    assert(tool, name)
    const { content } = await tool.run(input, {
      sandbox: await sandboxes.open(session.id, session),
      signal: new AbortController().signal,
      limits: defaultToolLimits,
      memory: new ByteGate(toolMemoryBytes),
      log: quiet,
      ...servicesForTests(),
    })
    return JSON.stringify(content)
  }

  test(`${driver}: there are at least ${minCalls} hostile calls`, () => assert.ok(calls.length >= minCalls))

  for (const { name, tool, input } of calls) {
    test(`${driver}: ${name} has no success`, async () => {
      const text = await call(tool, input).catch((error: unknown) => String(error))
      assert.ok(!text.includes(canary), text.slice(0, 2_000))
      assert.deepEqual(reached, [], 'something outside of the sandbox was reached')
      assert.deepEqual((await readdir(folder)).sort(), ['host.sock', 'secret'])
      assert.equal(await readFile(join(folder, 'secret'), 'utf8'), canary)
      assert.deepEqual(await readdir(foreign), ['secret'])
    })
  }

  test(`${driver}: afterwards no process is left, no secret was in a name, and the sandbox works`, async () => {
    assert.equal(await isRunning('sleep 77771'), false)
    assert.ok(!resolved.some(name => name.includes('canary')), resolved.join(', '))
    assert.match(await call('bash', { command: 'echo fine' }), /fine/)
  })
}
