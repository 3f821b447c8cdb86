import { execFile } from 'node:child_process'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'

const root = join(import.meta.dirname, '..', '..', '..')
const run = promisify(execFile)

/** Packs the clone without network and unpacks it below `node_modules` in `folder`, as npm does. Returns its folder. */
export async function unpackInto(folder: string): Promise<string> {
  const installed = join(folder, 'node_modules', '@switchyard-project', 'switchyard')
  await mkdir(installed, { recursive: true })
  await run('npm', ['pack', '--ignore-scripts', '--offline', '--pack-destination', folder], {
    cwd: root,
    env: { ...process.env, npm_config_cache: join(folder, 'cache') },
    maxBuffer: 32 * 1024 * 1024,
  })
  const archive = join(folder, 'switchyard-project-switchyard-0.1.0.tgz')
  await run('tar', ['-xzf', archive, '-C', installed, '--strip-components', '1'])
  return installed
}
