// Installs packages from a lockfile: `node scripts/install.mjs <folder>`, or as a function. Plain JavaScript, because it
// must run on Node 18.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const modifiedAt = path => (existsSync(path) ? statSync(path).mtimeMs : 0)

export const isInstalled = folder =>
  modifiedAt(join(folder, 'node_modules', '.package-lock.json')) >= modifiedAt(join(folder, 'package-lock.json'))

/** Installs `folder` from its lockfile unless its modules are newer than that. Ends the process when npm fails. */
export function install(folder) {
  if (isInstalled(folder)) return
  process.stderr.write('Installing packages (once, about a minute) ...\n')
  const { status } = runInstall(folder, { stdio: ['ignore', 2, 2] })
  if (status === 0) return
  process.stderr.write('\nnpm ci failed. Check the network and the messages above, then start again.\n')
  process.exit(1)
}

/**
 * Runs `npm ci` with these arguments and options of `spawnSync`, and returns what that returns.
 * @param {string} folder
 * @param {import('node:child_process').SpawnSyncOptions & { args?: readonly string[] }} options
 * @returns {Pick<import('node:child_process').SpawnSyncReturns<string>, 'status'> & Partial<import('node:child_process').SpawnSyncReturns<string>>}
 */
export function runInstall(folder, { args = [], env = process.env, ...options }) {
  const unlock = lock(folder)
  try {
    // Somebody else may have done it while we waited.
    if (isInstalled(folder)) return { status: 0 }
    return spawnSync('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error', ...args], {
      cwd: folder,
      shell: process.platform === 'win32',
      // `npm start` in a production shell must still get the Node 24 that is a dev dependency.
      env: { ...env, NODE_ENV: 'development' },
      ...options,
    })
  } finally {
    unlock()
  }
}

/**
 * Waits until this process alone may work on `folder`, and returns a function that ends this. Two installs of one folder
 * at a time would break each other's work.
 */
export function lock(folder) {
  const name = createHash('sha256').update(resolve(folder)).digest('hex').slice(0, 16)
  const path = join(tmpdir(), `switchyard-install-${name}`)
  while (!taken(path)) {
    if (!isRunning(owner(path))) rmSync(path, { force: true })
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 500)
  }
  return () => rmSync(path, { force: true })
}

function taken(path) {
  try {
    writeFileSync(path, String(process.pid), { flag: 'wx' })
    return true
  } catch {
    return false
  }
}

function owner(path) {
  try {
    return Number(readFileSync(path, 'utf8'))
  } catch {
    return 0
  }
}

function isRunning(pid) {
  try {
    // An owner that has not written its number yet counts as running.
    return pid === 0 || process.kill(pid, 0)
  } catch (error) {
    // A process of another user.
    return error.code === 'EPERM'
  }
}

const [, program, folder] = process.argv
if (program === fileURLToPath(import.meta.url)) install(folder)
