import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { promisify } from 'node:util'
import { freshDatabase } from '../support/service/database.ts'
import { unpackInto } from '../support/service/packed.ts'

const root = join(import.meta.dirname, '..', '..')
const run = promisify(execFile)

/** Packs the clone and unpacks it as npm does, without network: its dependencies are links to those of the clone. */
async function installPackage(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'switchyard-package-'))
  after(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }))
  await run(process.execPath, [join(root, 'scripts', 'compile-service.ts')])
  const installed = await unpackInto(folder)
  const modules = join(folder, 'node_modules')
  for (const name of await readdir(join(root, 'node_modules')))
    if (!name.startsWith('.')) await symlink(join(root, 'node_modules', name), join(modules, name))
  return installed
}

test('the package contains no TypeScript to run, starts below node_modules and runs a prompt', async () => {
  const installed = await installPackage()
  const files = await readdir(installed, { recursive: true })
  assert.deepEqual(
    files.filter(file => file.endsWith('.ts') && !file.endsWith('.d.ts')),
    [],
  )
  const { url } = await freshDatabase()
  const data = join(installed, '..', '..', '..', 'data')
  const env = {
    PATH: process.env['PATH'],
    HOME: data,
    HOST: '127.0.0.1',
    PORT: '0',
    DATABASE_URL: url,
    SWITCHYARD_DATA_DIR: data,
    SWITCHYARD_DRAIN_DELAY_MS: '0',
  }
  const program = join(installed, 'bin', 'switchyard.mjs')
  const service = spawn(process.execPath, [program, 'serve'], { env, stdio: ['ignore', 'pipe', 'pipe'] })
  const output: string[] = []
  const address = new Promise<string>((resolve, reject) => {
    for (const stream of [service.stdout, service.stderr])
      stream.on('data', chunk => {
        output.push(String(chunk))
        const [, found] = /ready at (http:\S+)/.exec(output.join('')) ?? []
        if (found) resolve(found)
      })
    service.once('exit', () => reject(new Error(output.join(''))))
  })
  try {
    const { stdout } = await run(process.execPath, [program, 'run', '--url', await address, 'List the folder'], { env })
    assert.match(stdout, /done/)
  } finally {
    const exited = once(service, 'exit')
    service.kill('SIGTERM')
    await exited
  }
})
