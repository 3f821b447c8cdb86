import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { basename, join } from 'node:path'

/** Content of `postmaster.pid`. */
interface LockFile {
  readonly pid: number
  readonly socket: string | undefined
}

const nameOf = (cluster: string) => join(cluster, 'postmaster.pid')

/** Returns the lock file of a database folder; undefined if no server runs there or the last one stopped cleanly. */
export function readLockFile(cluster: string): LockFile | undefined {
  try {
    const lines = readFileSync(nameOf(cluster), 'utf8').split('\n')
    const pid = Number(lines[0])
    return pid > 0 ? { pid, socket: lines[4]?.split(',')[0]?.trim() || undefined } : undefined
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

/** True if a process with this id exists, even of another user. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** True if `pid` is a running PostgreSQL, not a zombie or an unrelated process that reuses the pid. */
export function isServer(pid: number): boolean {
  if (!existsSync('/proc/self/cmdline')) return isAlive(pid)
  try {
    const program = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')[0] ?? ''
    return basename(program) === 'postgres'
  } catch {
    return false
  }
}

/** Above the highest pid of any system, so never in use. */
const unusedPid = '9999999'

/**
 * Removes the pid of a dead owner from the lock file. PostgreSQL would wait forever if an unrelated process reuses the
 * pid, as in restarted containers. The rest stays, so that it still checks for shared memory of surviving children.
 */
export function disownLockFile({ cluster, socket }: { cluster: string; socket: string }): void {
  const descriptor = openIfExists(nameOf(cluster))
  if (descriptor !== undefined) replacePid(descriptor)
  if (!existsSync(socket)) return
  for (const name of readdirSync(socket)) if (name.startsWith('.s.PGSQL.')) rmSync(join(socket, name))
}

/** Undefined if its owner exited meanwhile and deleted it. */
function openIfExists(file: string): number | undefined {
  try {
    // Without following links, because as root we write to a folder of another user.
    return openSync(file, constants.O_RDWR | constants.O_NOFOLLOW)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

function replacePid(descriptor: number): void {
  try {
    const { nlink } = fstatSync(descriptor)
    const [pid = '', ...rest] = readFileSync(descriptor, 'utf8').split('\n')
    if (nlink === 1 && pid !== unusedPid) writeSync(descriptor, [unusedPid, ...rest].join('\n'), 0)
  } finally {
    closeSync(descriptor)
  }
}
