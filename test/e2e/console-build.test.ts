import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, readdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { startBackgroundBuild } from '../../src/server/console/background-build.ts'
import type { BuildList } from '../../src/server/console/build-list.ts'
import { readBuildStatus } from '../../src/server/console/build-status.ts'
import { isAlive } from '../../src/server/db/embedded/lock-file.ts'
import { makeWebFolder, type WebFolder } from '../support/console/web-folder.ts'
import { eventually } from '../support/service/eventually.ts'

const root = join(import.meta.dirname, '..', '..')
const builder = join(root, 'scripts', 'build-console.ts')

interface Line {
  readonly level: string
  readonly text: string
  readonly fields: Record<string, unknown>
}

/** A log that collects its lines. */
function lines() {
  const written: Line[] = []
  const writer = (level: string) => (first: unknown, second?: unknown) => {
    const isText = typeof first === 'string'
    written.push({
      level,
      text: String(isText ? first : second),
      fields: isText ? {} : (first as Record<string, unknown>),
    })
  }
  return { written, log: { info: writer('info'), warn: writer('warn'), debug: writer('debug') } }
}

/** Builds as the service does, and returns the lines of its log. */
async function build(web: WebFolder): Promise<Line[]> {
  const { written, log } = lines()
  await startBackgroundBuild({ log, folder: web.path }).done
  return written
}

/** Builds in a process with these variables, and returns what it printed. */
async function buildWith(web: WebFolder, env: Record<string, string>) {
  const child = spawn(process.execPath, [builder, web.path, '--background'], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let output = ''
  child.stdout.on('data', chunk => {
    output += chunk
  })
  await once(child, 'close')
  return JSON.parse(output) as Record<string, string>
}

const listOf = (web: WebFolder): BuildList =>
  JSON.parse(readFileSync(join(web.path, 'dist', 'build.json'), 'utf8')) as BuildList

const scriptOf = (web: WebFolder): string => {
  const path = listOf(web).files.find(file => file.path.endsWith('.js') && file.path.startsWith('assets/'))?.path ?? ''
  return readFileSync(join(web.path, 'dist', path), 'utf8')
}

interface Started {
  readonly pid: number
  readonly nice: number
  readonly env: Record<string, string>
}
const startedOf = (web: WebFolder): Started => JSON.parse(readFileSync(join(web.path, 'started'), 'utf8')) as Started

test('a build has one log line; without changes there is no second build, after a change there is', async () => {
  const web = makeWebFolder('one();\n')
  const [built, ...others] = await build(web)
  assert.deepEqual([built?.level, built?.text, others], ['info', 'built the console', []])
  assert.equal(scriptOf(web), 'one();\n')
  assert.deepEqual(
    listOf(web)
      .files.map(({ path }) => path)
      .filter(path => !path.startsWith('assets/')),
    ['icon.svg', 'index.html', 'theme.js'],
  )
  assert.deepEqual(
    (await build(web)).map(({ level }) => level),
    ['debug'],
  )
  web.write('src/pages/home.test.tsx', 'tests are not part of a build')
  assert.deepEqual(
    (await build(web)).map(({ level }) => level),
    ['debug'],
  )
  web.write('../src/client/client.ts', 'export const client = 2\n')
  assert.deepEqual(
    (await build(web)).map(({ level }) => level),
    ['info'],
  )
  assert.deepEqual(readdirSync(join(web.path, '.cache')), [])
})

test('a build runs with the lowest priority and without the keys of the service', async () => {
  const web = makeWebFolder()
  const secrets = { GATEWAY_MASTER_KEY: 'sk-hush', OPENAI_API_KEY: 'sk-hush', npm_config__authToken: 'hush' }
  const { outcome } = await buildWith(web, { PATH: process.env['PATH'] ?? '', https_proxy: 'http://proxy', ...secrets })
  assert.equal(outcome, 'built')
  const { nice, env } = startedOf(web)
  assert.equal(nice, 19)
  assert.equal(env['https_proxy'], 'http://proxy')
  assert.ok(!JSON.stringify(env).includes('hush'))
})

test('sources that do not compile: the build before stays, the page names the cause, the log has the message', async () => {
  const web = makeWebFolder('one();\n')
  await build(web)
  web.write('src/main.tsx', 'syntax error')
  const [failed, ...others] = await build(web)
  assert.deepEqual([failed?.level, others], ['warn', []])
  assert.match(failed?.text ?? '', /^cannot build the console: the sources of the console do not compile; correct /)
  assert.match(String(failed?.fields['details']), /src\/main\.tsx:1:1 Unexpected token/)
  assert.equal(scriptOf(web), 'one();\n')
  const status = await readBuildStatus(web.path)
  assert.deepEqual(
    [status.step, 'reason' in status && status.reason],
    ['failed', 'the sources of the console do not compile'],
  )
  web.write('src/main.tsx', 'two();\n')
  assert.deepEqual(
    (await build(web)).map(({ level }) => level),
    ['info'],
  )
  assert.equal(scriptOf(web), 'two();\n')
})

test('packages are installed first: a missing npm and a failing npm are named with the next step', async () => {
  const web = makeWebFolder()
  web.remove('node_modules')
  const bin = makeWebFolder()
  const missing = await buildWith(web, { PATH: bin.path })
  assert.equal(missing['reason'], 'npm is not in the PATH of the service')
  assert.match(missing['next'] ?? '', /^install npm, which comes with Node\.js, and restart the service/)
  const script = (text: string) => {
    bin.write('npm', `#!/bin/sh\n${text}\n`)
    chmodSync(join(bin.path, 'npm'), 0o755)
  }
  script('echo "$@" > ../arguments; echo "npm error code ENOTFOUND" >&2; exit 1')
  const failed = await buildWith(web, { PATH: `${bin.path}:/bin:/usr/bin` })
  assert.equal(failed['reason'], 'npm could not install the packages of the console (ENOTFOUND)')
  assert.match(failed['next'] ?? '', /^check the network and the disk, and restart the service/)
  assert.equal(failed['details'], 'npm error code ENOTFOUND')
  assert.match(readFileSync(join(web.path, '..', 'arguments'), 'utf8'), /^ci .*--ignore-scripts/)
  assert.deepEqual(await readBuildStatus(web.path), { step: 'failed', reason: failed['reason'], next: failed['next'] })
})

test('while a build runs, every process can read its step and start; a second build waits and builds nothing', async () => {
  const web = makeWebFolder()
  web.write('gate', '')
  const [first, second] = [lines(), lines()]
  const startedAtMs = Date.now()
  const running = startBackgroundBuild({ log: first.log, folder: web.path })
  await eventually(() => existsSync(join(web.path, 'started')))
  const waiting = startBackgroundBuild({ log: second.log, folder: web.path })
  const status = await readBuildStatus(web.path)
  assert.equal(status.step, 'building')
  assert.ok('startedAtMs' in status && status.startedAtMs >= startedAtMs && status.startedAtMs <= Date.now())
  assert.ok(!existsSync(join(web.path, 'dist')))
  web.remove('gate')
  await Promise.all([running.done, waiting.done])
  const levels = [first, second].flatMap(({ written }) => written.map(({ level }) => level))
  assert.deepEqual(levels.sort(), ['debug', 'info'])
})

test('a stop kills the build with the programs that it runs, and the next start builds', async () => {
  const web = makeWebFolder()
  web.write('gate', '')
  const { written, log } = lines()
  const running = startBackgroundBuild({ log, folder: web.path })
  await eventually(() => existsSync(join(web.path, 'started')) && startedOf(web).pid > 0)
  const { pid } = startedOf(web)
  running.stop()
  await running.done
  await eventually(() => !isAlive(pid), { what: 'the end of Vite' })
  assert.deepEqual(written, [])
  assert.equal((await readBuildStatus(web.path)).step, 'waiting')
  web.remove('gate')
  assert.deepEqual(
    (await build(web)).map(({ level }) => level),
    ['info'],
  )
})

test('a build whose page has no place for a nonce is rejected', async () => {
  const web = makeWebFolder()
  web.write(
    'node_modules/vite/bin/vite.js',
    `
    import { mkdirSync, writeFileSync } from 'node:fs'
    const out = process.argv[process.argv.indexOf('--outDir') + 1]
    mkdirSync(out, { recursive: true })
    writeFileSync(out + '/index.html', '<!doctype html>')`,
  )
  const [failed] = await build(web)
  assert.equal(failed?.level, 'warn')
  assert.match(String(failed?.fields['details']), /index\.html does not contain %NONCE%/)
  assert.equal((await readBuildStatus(web.path)).step, 'failed')
  assert.ok(!existsSync(join(web.path, 'dist')))
})

test('a folder that cannot be written is named', async () => {
  const web = makeWebFolder()
  // Also root cannot create a folder where there is a link to nowhere.
  symlinkSync('/nowhere/at/all', join(web.path, '.cache'))
  const [failed] = await build(web)
  assert.match(
    failed?.text ?? '',
    /user \d+ cannot write to the folder of the console; make .*web writable and restart/,
  )
})

test('a package without the sources builds nothing', async () => {
  const web = makeWebFolder()
  web.remove('package.json')
  assert.deepEqual(await build(web), [])
  assert.ok(!existsSync(join(web.path, 'dist')))
})
