import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { dockerForTests, lackEngine } from '../../../test/support/docker/docker-for-tests.ts'
import { fakeImage } from '../../../test/support/docker/fake-engine.ts'
import { sessionWith } from '../../../test/support/network/network.ts'
import { eventually } from '../../../test/support/service/eventually.ts'
import { lack } from '../../../test/support/service/lack.ts'
import { createSandboxCheck } from './check-sandbox.ts'
import { isRunning, sandboxesForTests } from './sandboxes-for-tests.ts'

const needsBubblewrap = { skip: lack('bubblewrap') }
const never = new AbortController().signal

const sessionOf = (id: string, sandbox: unknown, owner = 'user-1') => ({
  ...sessionWith(undefined, id),
  owner_id: owner,
  config: { sandbox },
})

/** A set-up that leaves a file with a number that differs in each run, where each driver keeps it. */
const settings = {
  bubblewrap: { setup: 'date +%s%N > $HOME/made; mkdir -p $HOME/bin', file: '$HOME/made' },
  docker: { setup: 'date +%s%N > /opt/made', file: '/opt/made' },
} as const

for (const driver of ['bubblewrap', 'docker'] as const) {
  const when = { skip: driver === 'docker' ? lackEngine : lack('bubblewrap') }
  const { setup, file } = settings[driver]
  const sandboxesOf = async () => {
    const more = driver === 'docker' ? { settings: (await dockerForTests()).settings } : {}
    return await sandboxesForTests(driver, more)
  }

  test(`${driver}: a set-up runs once for all sessions of its owner, and its result is in each`, when, async () => {
    const sandboxes = await sandboxesOf()
    const read = async (id: string, owner?: string) => {
      const session = sessionOf(id, { setup: [setup] }, owner)
      await sandboxes.prepare(session, never)
      return (await (await sandboxes.open(id, session)).exec({ command: `cat ${file}; echo x >> ${file}` })).output
    }
    const [first, second] = await Promise.all([read('ses_1'), read('ses_2')])
    assert.match(first.split('\n')[0] ?? '', /^\d{15,}$/)
    assert.equal(second.split('\n')[0], first.split('\n')[0])
    assert.equal((await read('ses_3')).split('\n')[0], first.split('\n')[0])
    assert.notEqual((await read('ses_4', 'user-2')).split('\n')[0], first.split('\n')[0])
  })

  test(`${driver}: a program sees the result of a set-up`, when, async () => {
    const sandboxes = await sandboxesOf()
    const sandbox = await sandboxes.open('ses_1', sessionOf('ses_1', { setup: [setup] }))
    const place = await sandbox.programPlace('sandbox')
    const program = await place.start({ command: `test -s ${file}`, env: {}, readable: [] })
    assert.deepEqual(await program.exited, { code: 0 })
  })

  test(`${driver}: a failed set-up names the command and the end of its output, and runs again`, when, async () => {
    const sandboxes = await sandboxesOf()
    const session = sessionOf('ses_1', { setup: ['true', 'echo no such package >&2; exit 3', 'echo never'] })
    for (let attempt = 0; attempt < 2; attempt++) {
      await assert.rejects(sandboxes.prepare(session, never), ({ message }: Error) => {
        assert.match(message, /^config\.sandbox\.setup failed; the end of its output: no such package/)
        assert.match(message, /command 2 of 3 ended with exit code 3/)
        assert.doesNotMatch(message, /never/)
        return true
      })
    }
  })

  test(`${driver}: a set-up sees no files of the session`, when, async () => {
    const sandboxes = await sandboxesOf()
    await (await sandboxes.open('ses_1')).files.write('secret', 'mine')
    await sandboxes.prepare(sessionOf('ses_1', { setup: ['! ls /workspace/secret'] }), never)
  })

  test(`${driver}: a cancelled wait returns at once, and a stop ends the set-up`, when, async () => {
    const sandboxes = await sandboxesOf()
    const marker = `sleep 9${String(process.hrtime.bigint()).slice(-8)}`
    const stop = new AbortController()
    const waiting = sandboxes.prepare(sessionOf('ses_1', { setup: [marker] }), stop.signal)
    await eventually(() => isRunning(marker))
    stop.abort()
    await assert.rejects(waiting, { code: 'unavailable', message: /cancelled/ })
    await sandboxes.stopAll()
    assert.equal(await isRunning(marker), false)
  })
}

test('bubblewrap: what a killed set-up left is not used', needsBubblewrap, async () => {
  const sandboxes = await sandboxesForTests('bubblewrap')
  const left = join(sandboxes.workspacesDir, '.setups', 'half.new')
  await mkdir(left, { recursive: true })
  await writeFile(join(left, 'made'), 'half')
  const session = sessionOf('ses_1', { setup: ['echo whole > $HOME/made'] })
  const sandbox = await sandboxes.open('ses_1', session)
  assert.equal((await sandbox.exec({ command: 'cat ~/made' })).output, 'whole\n')
})

test('bubblewrap: at most 20 results are stored', needsBubblewrap, async () => {
  const sandboxes = await sandboxesForTests('bubblewrap')
  for (let at = 0; at < 22; at++)
    await sandboxes.prepare(sessionOf('ses_1', { setup: [`echo ${at} > $HOME/made`] }), never)
  assert.equal((await readdir(join(sandboxes.workspacesDir, '.setups'))).length, 20)
  assert.equal(await readFile(join(sandboxes.workspacesDir, 'ses_1.home', 'made'), 'utf8'), '21\n')
  await sandboxes.remove('ses_1')
  assert.equal(existsSync(join(sandboxes.workspacesDir, 'ses_1.setup')), false)
})

test('docker: at most 20 images of set-ups are stored, and others stay', { skip: lackEngine }, async () => {
  const { engine, settings: given } = await dockerForTests()
  const sandboxes = await sandboxesForTests('docker', { settings: given })
  for (let at = 0; at < 22; at++) await sandboxes.prepare(sessionOf('ses_1', { setup: [`echo ${at}`] }), never)
  const names = [...engine.images.keys()]
  assert.equal(names.filter(name => name.startsWith('switchyard-setup:')).length, 20)
  assert(names.includes(fakeImage))
})

test('docker: an agent’s image is pulled once, and only if it is allowed', { skip: lackEngine }, async () => {
  const image = 'registry.example/tools:2'
  const { engine, settings: given } = await dockerForTests({ engine: { registry: [image] }, images: [image, 'gone:1'] })
  const sandboxes = await sandboxesForTests('docker', { settings: given })
  await Promise.all(['ses_1', 'ses_2'].map(id => sandboxes.prepare(sessionOf(id, { image }), never)))
  assert.equal(engine.requests.filter(({ path }) => path === '/images/create').length, 1)
  const sandbox = await sandboxes.open('ses_1')
  assert.equal((await sandbox.exec({ command: 'echo fine' })).output, 'fine\n')
  const used = engine.requests.findLast(({ path }) => path === '/containers/create')?.body as { Image: string }
  assert.equal(used.Image, image)
  await assert.rejects(sandboxes.prepare(sessionOf('ses_3', { image: 'evil:1' }), never), {
    code: 'invalid_request',
    message: /config\.sandbox\.image evil:1 is not allowed/,
  })
  await assert.rejects(sandboxes.prepare(sessionOf('ses_4', { image: 'gone:1' }), never), {
    code: 'unavailable',
    message: /image gone:1 cannot be pulled: manifest for gone:1 not found; pull it on the host/,
  })
})

test('config.sandbox is checked against the driver', () => {
  const images = [fakeImage, 'other:1']
  const check = createSandboxCheck({ detail: 'the driver', images, hasSetup: true })
  assert.equal(check({ sandbox: { image: 'other:1', setup: ['true'] } }, 'sandbox'), undefined)
  assert.equal(check({}, 'elsewhere'), undefined)
  assert.match(check({ sandbox: { image: 'evil:1' } }, 'sandbox')?.problem ?? '', /use one of fake:1, other:1/)
  assert.deepEqual(check({ sandbox: { imaeg: 'x' } }, 'sandbox')?.field, 'config.sandbox.imaeg')
  assert.match(check({ sandbox: { setup: ['true'] } }, 'elsewhere')?.problem ?? '', /does not work in a sandbox/)
  const plain = createSandboxCheck({ detail: 'a simulated shell', images: [], hasSetup: false })
  assert.match(plain({ sandbox: { image: 'x' } }, 'sandbox')?.problem ?? '', /needs sandbox\.driver docker/)
  assert.equal(plain({ sandbox: { setup: ['true'] } }, 'sandbox')?.field, 'config.sandbox.setup')
})

test('bubblewrap: a home cannot replace the programs that start a command', needsBubblewrap, async () => {
  const sandboxes = await sandboxesForTests('bubblewrap')
  const replaced = ['bash', 'env', 'setpriv', 'sh', 'sleep', 'socat']
  const folders = ['~/.local/bin', '~/bin']
  // Each writes the user that it runs as.
  const script = '#!/bin/sh\\n/usr/bin/id -u\\nexec /usr/bin/%s "$@"\\n'
  const setup = folders.flatMap(folder => [
    `mkdir -p ${folder}`,
    ...replaced.map(name => `printf '${script}' ${name} > ${folder}/${name}; /bin/chmod +x ${folder}/${name}`),
  ])
  setup.push('/bin/chmod 755 ~ ~/.local ~/.local/bin ~/bin')
  const session = sessionOf('ses_1', { setup })
  const sandbox = await sandboxes.open('ses_1', session)
  const { output } = await sandbox.exec({ command: '/usr/bin/id -u; command -v setpriv' })
  assert.match(output, /^\d+\n\/home\/agent\/\.local\/bin\/setpriv\n$/)
  const place = await sandbox.programPlace('sandbox')
  const env = { PATH: '/home/agent/bin:/usr/bin:/bin' }
  const program = await place.start({ command: '/usr/bin/id -u; echo $PATH', env, readable: [] })
  const chunks: Buffer[] = []
  program.stdout.on('data', (chunk: Buffer) => chunks.push(chunk))
  await program.exited
  const [user, path] = Buffer.concat(chunks).toString().split('\n')
  assert.equal(user, output.split('\n')[0])
  assert.equal(path, `/home/agent/.local/bin:/home/agent/bin:${env.PATH}`)
})
