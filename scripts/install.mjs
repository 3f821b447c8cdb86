// Installs packages from a lockfile: `node scripts/install.mjs <folder>`, or as a function. Plain JavaScript, because it
// must run on Node 18.
import { spawnSync } from 'node:child_process'
import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const modifiedAt = path => (existsSync(path) ? statSync(path).mtimeMs : 0)

/** Installs `folder` from its lockfile unless its modules are newer than that. */
export function install(folder) {
  const lockfile = join(folder, 'package-lock.json')
  const installed = join(folder, 'node_modules', '.package-lock.json')
  if (modifiedAt(installed) >= modifiedAt(lockfile)) return
  process.stderr.write('Installing packages (once, about a minute) ...\n')
  const { status } = spawnSync('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: folder,
    stdio: ['ignore', 2, 2],
    shell: process.platform === 'win32',
    // `npm start` in a production shell must still get the Node 24 that is a dev dependency.
    env: { ...process.env, NODE_ENV: 'development' },
  })
  if (status !== 0) {
    process.stderr.write('\nnpm ci failed. Check the network and the messages above, then start again.\n')
    process.exit(1)
  }
}

const [, program, folder] = process.argv
if (program === fileURLToPath(import.meta.url)) install(folder)
