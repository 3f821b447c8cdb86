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

/** What `postmaster.pid` says of the server that wrote it. */
interface LockFile {
  readonly pid: number
  readonly socket: string | undefined
}

const nameOf = (cluster: string) => join(cluster, 'postmaster.pid')

/** The lock file of a database's folder; undefined when no server runs there or the last one ended cleanly. */
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

/** True when a process with this id exists, also one of another user. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** True when `pid` is a running PostgreSQL, and neither a zombie nor a stranger that got the number of a dead one. */
export function isServer(pid: number): boolean {
  if (!existsSync('/proc/self/cmdline')) return isAlive(pid)
  try {
    const program = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')[0] ?? ''
    return basename(program) === 'postgres'
  } catch {
    return false
  }
}

/** Beyond the highest process id of any system, so nobody has it. */
const nobodysPid = '9999999'

/**
 * Takes the dead owner's number out of the lock file. PostgreSQL would wait for ever when a stranger has that number
 * now, as in every restarted container. The rest stays, so that it still looks for memory of surviving children.
 */
export function disownLockFile({ cluster, socket }: { cluster: string; socket: string }): void {
  const descriptor = openIfThere(nameOf(cluster))
  if (descriptor !== undefined) takeNumberOut(descriptor)
  if (!existsSync(socket)) return
  for (const name of readdirSync(socket)) if (name.startsWith('.s.PGSQL.')) rmSync(join(socket, name))
}

/** Undefined when its owner came to its end meanwhile, and took it away. */
function openIfThere(file: string): number | undefined {
  try {
    // No links: as root we write in a folder of another user.
    return openSync(file, constants.O_RDWR | constants.O_NOFOLLOW)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

function takeNumberOut(descriptor: number): void {
  try {
    const { nlink } = fstatSync(descriptor)
    const [pid = '', ...rest] = readFileSync(descriptor, 'utf8').split('\n')
    if (nlink === 1 && pid !== nobodysPid) writeSync(descriptor, [nobodysPid, ...rest].join('\n'), 0)
  } finally {
    closeSync(descriptor)
  }
}
