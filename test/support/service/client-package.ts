import { execFile } from 'node:child_process'
import { mkdtemp, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'
import { promisify } from 'node:util'
import { unpackInto } from './packed.ts'

const root = join(import.meta.dirname, '..', '..', '..')
const run = promisify(execFile)

/**
 * Packs the package and installs it into a new folder without network: the packed files, and a link to the one
 * package that the client imports. Returns the folder; it is removed after the last test of the file.
 */
export async function installClientPackage(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'switchyard-client-package-'))
  after(() => rm(folder, { recursive: true, force: true }))
  const env = { ...process.env, npm_config_offline: 'true', npm_config_cache: join(folder, 'cache') }
  // Without the console, whose build takes longer than the tests of the client.
  await run('npm', ['run', 'build:client'], { cwd: root, env })
  await unpackInto(folder)
  await symlink(join(root, 'node_modules', 'typebox'), join(folder, 'node_modules', 'typebox'))
  return folder
}
