import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { after, test } from 'node:test'
import { dockerForTests, lackEngine } from '../../../test/support/docker/docker-for-tests.ts'
import { eventually } from '../../../test/support/service/eventually.ts'
import { lack } from '../../../test/support/service/lack.ts'
import type { DriverSettings } from './choose-driver.ts'
import type { Isolation, ProgramPlace, SandboxDriverName } from './sandbox.ts'
import type { Sandboxes } from './sandboxes.ts'
import { isRunning, sandboxesForTests, temporaryFolder } from './sandboxes-for-tests.ts'

const skip = lack('bubblewrap')

interface Subject {
  readonly name: string
  readonly isolation: Isolation
  readonly driver: SandboxDriverName
  readonly sandboxes: Sandboxes
  readonly settings?: DriverSettings
}

/** The containers of the fake engine of Docker are bubblewrap sandboxes. */
async function isolatedSubjects(): Promise<Subject[]> {
  if (skip) return []
  const isolation = 'sandbox'
  const bubblewrap = { name: 'bubblewrap', isolation, driver: 'bubblewrap' } as const
  const all: Subject[] = [{ ...bubblewrap, sandboxes: await sandboxesForTests('bubblewrap') }]
  if (lackEngine) return all
  const { settings } = await dockerForTests()
  const sandboxes = await sandboxesForTests('docker', { settings })
  return [...all, { name: 'docker', isolation, driver: 'docker', settings, sandboxes }]
}

const isolated = await isolatedSubjects()
const trusted: Subject = {
  name: 'no isolation',
  isolation: 'none',
  driver: 'virtual',
  sandboxes: await sandboxesForTests('virtual'),
}
let sessions = 0

async function newPlace({ isolation, sandboxes }: Subject): Promise<ProgramPlace & { dispose(): Promise<void> }> {
  sessions += 1
  const sandbox = await sandboxes.open(`ses_${sessions}`)
  return { ...(await sandbox.programPlace(isolation)), dispose: () => sandbox.dispose() }
}

const start = ({ start }: ProgramPlace, command: string, env = {}) => start({ command, env, readable: [] })

/** Returns a long sleep that is unique on this machine. */
const longSleep = () => `sleep 9${String(process.hrtime.bigint()).slice(-8)}`

test('isolated programs', { skip }, () => assert.equal(isolated.length, lackEngine ? 1 : 2))

for (const subject of [...isolated, trusted]) {
  const { name } = subject

  test(`${name}: a program reads its input, and its output and errors are returned separately`, async () => {
    const program = await start(await newPlace(subject), 'read line; echo "got $line"; echo oops >&2; exit 3')
    program.stdin.write('hello\n')
    assert.equal(await text(program.stdout), 'got hello\n')
    assert.deepEqual(await program.exited, { code: 3 })
    assert.equal(program.errors(), 'oops\n')
  })

  test(`${name}: a program runs in the workspace, with a separate HOME that persists for the next one`, async () => {
    const place = await newPlace(subject)
    await place.homeFiles.write('.config/settings', 'seen')
    const first = await start(
      place,
      'cat $HOME/.config/settings; echo kept > $HOME/kept; echo file > made; echo $NAME',
      {
        NAME: 'value',
      },
    )
    assert.equal(await text(first.stdout), 'seenvalue\n')
    await first.exited
    const again = await start(place, 'cat $HOME/kept made')
    assert.equal(await text(again.stdout), 'kept\nfile\n')
  })

  test(`${name}: a stop kills a program that ignores SIGTERM, with all its children`, async () => {
    const marker = longSleep()
    const program = await start(await newPlace(subject), `trap "" TERM; ${marker} & ${marker}; ${marker}`)
    await eventually(() => isRunning(marker))
    await program.stop()
    assert.equal(await isRunning(marker), false)
  })

  test(`${name}: background processes of a program end with it`, async () => {
    const marker = longSleep()
    const program = await start(await newPlace(subject), `${marker} >/dev/null 2>&1 & echo done`)
    await program.exited
    await eventually(async () => !(await isRunning(marker)))
  })

  test(`${name}: disposing of the sandbox kills its program`, async () => {
    const marker = longSleep()
    const place = await newPlace(subject)
    const program = await start(place, `${marker}; true`)
    await eventually(() => isRunning(marker))
    await place.dispose()
    assert.equal(await isRunning(marker), false)
    await program.exited
  })

  test(`${name}: a program ends when the server is killed`, async () => {
    const folder = await temporaryFolder()
    const marker = longSleep()
    const source = `
      import { createSandboxes } from ${JSON.stringify(new URL('./sandboxes.ts', import.meta.url).href)}
      const [, workspacesDir, isolation, seconds, prefer, settings] = process.argv
      const log = { info() {}, warn() {} }
      const sandboxes = await createSandboxes({ workspacesDir, log, prefer, settings: JSON.parse(settings) })
      const place = await (await sandboxes.open('ses_1')).programPlace(isolation)
      const command = 'touch started; ' + ['sleep', seconds].join(' ') + '; true'
      await place.start({ command, env: {}, readable: [] })
      setInterval(() => {}, 1000)`
    const facts = [subject.isolation, marker.slice('sleep '.length), subject.driver]
    const args = ['--input-type=module', '-e', source, folder, ...facts, JSON.stringify(subject.settings ?? null)]
    const server = spawn(process.execPath, args, { stdio: 'ignore', env: {} })
    await eventually(async () => existsSync(join(folder, 'ses_1', 'started')) && (await isRunning(marker)))
    server.kill('SIGKILL')
    await once(server, 'exit')
    await eventually(async () => !(await isRunning(marker)))
  })
}

for (const subject of isolated) {
  const { name } = subject

  test(`${name}: a program sees only the granted host files, read-only`, async () => {
    const granted = join(await temporaryFolder(), 'lent')
    await mkdir(granted)
    await writeFile(join(granted, 'file'), 'lent')
    const other = join(await temporaryFolder(), 'other')
    await writeFile(other, 'other')
    const place = await newPlace(subject)
    const command = `cat ${granted}/file; touch ${granted}/x 2>/dev/null || echo refused; ls ${other} 2>/dev/null || echo hidden; id -u`
    const program = await place.start({ command, env: {}, readable: [granted] })
    assert.equal(await text(program.stdout), 'lentrefused\nhidden\n65533\n')
  })

  test(`${name}: a program reaches the server over a socket in the socket folder`, {
    skip: lack('socat'),
  }, async () => {
    const place = await newPlace(subject)
    const server = createServer((_request, response) => response.end('answered'))
    server.listen({ path: join(place.folders.sockets, 'in.sock'), writableAll: true, readableAll: true })
    await once(server, 'listening')
    after(() => server.close())
    const program = await start(
      place,
      `printf 'GET / HTTP/1.0\\r\\n\\r\\n' | socat -t5 - UNIX-CONNECT:${place.foldersInside.sockets}/in.sock`,
    )
    assert.match(await text(program.stdout), /answered$/)
  })

  test(`${name}: the home of a removed session’s program is removed with it`, async () => {
    const sandbox = await subject.sandboxes.open('ses_gone')
    const place = await sandbox.programPlace('sandbox')
    const program = await start(place, 'echo secret > $HOME/kept')
    await program.exited
    assert.equal(await readFile(join(place.folders.home, 'kept'), 'utf8'), 'secret\n')
    await subject.sandboxes.remove('ses_gone')
    for (const folder of Object.values(place.folders)) assert.equal(existsSync(folder), false)
  })
}

test('an isolated program is rejected with the reason on a machine without isolation', async () => {
  const virtual = await sandboxesForTests('virtual')
  const sandbox = await virtual.open('ses_1')
  await assert.rejects(sandbox.programPlace('sandbox'), { code: 'unavailable', message: /bubblewrap/ })
})
