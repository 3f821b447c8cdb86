import { type SpawnSyncReturns, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { type BuildList, listName } from '../src/server/console/build-list.ts'
import { type StoredStatus, statusFileOf } from '../src/server/console/build-status.ts'
import { listBuild } from './console-files.ts'
import { digestOfSources } from './console-sources.ts'
import { removeDeadFolders } from './dead-folders.ts'
import { isInstalled, lock, runInstall } from './install.mjs'

/** A build that did not succeed. `message` is for everybody; `details` are for the log. */
export class BuildFailure extends Error {
  readonly next: string
  readonly details: string

  constructor(reason: string, { next, details }: { readonly next: string; readonly details: string }) {
    super(reason)
    this.name = 'BuildFailure'
    this.next = next
    this.details = details
  }
}

const prefix = 'build-'
const programTimeoutMs = 15 * 60_000
/** Variables that npm and Vite get: not those with keys of the service. */
const passed =
  /^(PATH|HOME|USERPROFILE|TMPDIR|TEMP|TMP|LANG|SYSTEMROOT|APPDATA|COMSPEC|PATHEXT|NODE_EXTRA_CA_CERTS|SSL_CERT_FILE)$|^(https?|no)_proxy$|^npm_config_(?!.*(auth|token|password))/i

/**
 * Installs and builds the console in `folder` unless its build is that of its sources. The build before stays in place
 * until the new one is complete. Of several processes on this machine one builds, and the others wait for it. Returns
 * false when there was nothing to do. Throws BuildFailure.
 */
export function buildConsole(folder: string): boolean {
  const sources = digestOfSources(folder)
  if (sourcesOfBuild(folder) === sources) return false
  const cache = join(folder, '.cache')
  writable(folder, () => mkdirSync(cache, { recursive: true }))
  const unlock = lock(join(folder, 'dist'))
  try {
    if (sourcesOfBuild(folder) === sources) return false
    const startedAtMs = Date.now()
    const enter = (step: 'installing' | 'building') => storeStatus(folder, { step, pid: process.pid, startedAtMs })
    writable(folder, () => removeDeadFolders(cache, prefix))
    if (!isInstalled(folder)) {
      enter('installing')
      installPackages(folder)
    }
    enter('building')
    const output = join(cache, `${prefix}${process.pid}-output`)
    runVite(folder, output)
    writeFileSync(join(output, listName), JSON.stringify({ sources, files: listBuild(output) } satisfies BuildList))
    writable(folder, () => replaceBuild(folder, output))
    rmSync(statusFileOf(folder), { force: true })
    return true
  } catch (error) {
    if (error instanceof BuildFailure) storeFailure(folder, error)
    throw error
  } finally {
    unlock()
  }
}

/** Returns the digest of the sources of the build in `dist`; undefined without one. */
function sourcesOfBuild(folder: string): string | undefined {
  try {
    return (JSON.parse(readFileSync(join(folder, 'dist', listName), 'utf8')) as BuildList).sources
  } catch {
    return undefined
  }
}

function installPackages(folder: string): void {
  const { status, error, stderr } = runInstall(folder, {
    // No package of the console needs its own script.
    args: ['--ignore-scripts'],
    env: environment(),
    encoding: 'utf8',
    timeout: programTimeoutMs,
  })
  if (status === 0) return
  const again = 'or run "npm run build:console" on a machine with network, and copy web/dist'
  if (error && 'code' in error && error.code === 'ENOENT') {
    const next = `install npm, which comes with Node.js, and restart the service, ${again}`
    throw new BuildFailure('npm is not in the PATH of the service', { next, details: error.message })
  }
  const code = /npm error code (\w+)/.exec(stderr ?? '')?.[1]
  throw new BuildFailure(`npm could not install the packages of the console${code ? ` (${code})` : ''}`, {
    next: `check the network and the disk, and restart the service, ${again}`,
    details: tailOf(stderr, error),
  })
}

function runVite(folder: string, output: string): void {
  const vite = join(folder, 'node_modules', 'vite', 'bin', 'vite.js')
  const args = [vite, 'build', '--outDir', output, '--emptyOutDir', '--manifest', '--logLevel', 'warn']
  const { status, error, stdout, stderr }: SpawnSyncReturns<string> = spawnSync(process.execPath, args, {
    cwd: folder,
    env: { ...environment(), NODE_ENV: 'production' },
    encoding: 'utf8',
    timeout: programTimeoutMs,
  })
  if (status === 0) return
  throw new BuildFailure('the sources of the console do not compile', {
    next: 'correct the files in web/, or restore them, and restart the service',
    details: tailOf(`${stdout}\n${stderr}`, error),
  })
}

const environment = (): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(process.env).filter(([name]) => passed.test(name)))

const tailOf = (output: string | undefined, error: Error | undefined): string =>
  [error?.message ?? '', stripVTControlCharacters(output ?? '')].join('\n').trim().slice(-4_000)

/** Renames twice: readers that see neither build keep the one in their memory. */
function replaceBuild(folder: string, output: string): void {
  const dist = join(folder, 'dist')
  const before = `${output}-before`
  const hasBuild = existsSync(dist)
  if (hasBuild) renameSync(dist, before)
  try {
    renameSync(output, dist)
  } catch (error) {
    if (hasBuild) renameSync(before, dist)
    throw error
  }
  rmSync(before, { recursive: true, force: true })
}

function storeFailure(folder: string, { message, next }: BuildFailure): void {
  try {
    storeStatus(folder, { step: 'failed', reason: message, next })
  } catch {
    // The caller reports the failure too.
  }
}

function storeStatus(folder: string, status: StoredStatus): void {
  const file = statusFileOf(folder)
  const unfinished = `${file}.${process.pid}`
  writable(folder, () => {
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(unfinished, JSON.stringify(status))
    renameSync(unfinished, file)
  })
}

function writable(folder: string, work: () => void): void {
  try {
    work()
  } catch (error) {
    throw new BuildFailure(`user ${process.getuid?.() ?? 'of the service'} cannot write to the folder of the console`, {
      next: `make ${folder} writable and restart the service, or run "npm run build:console" as its owner`,
      details: error instanceof Error ? error.message : String(error),
    })
  }
}
