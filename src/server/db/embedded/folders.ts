import { createHash } from 'node:crypto'
import {
  accessSync,
  chmodSync,
  chownSync,
  constants,
  existsSync,
  lstatSync,
  mkdirSync,
  realpathSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir, userInfo } from 'node:os'
import { dirname, join } from 'node:path'
import type { Account } from './account.ts'
import { cannotStart } from './explain.ts'

/** Paths of the embedded database. */
export interface Folders {
  readonly dataDir: string
  /** Database folder. */
  readonly cluster: string
  /** Folder of the authentication files, which are written at each start. */
  readonly access: string
  /** Folder of the Unix socket. */
  readonly socket: string
}

/** Maximum bytes of a socket path: 107 on Linux, 103 on macOS. */
const maxSocketPathLength = 103

/** Part of the socket name only: the server does not listen on the network. */
export const port = 5432

export function foldersOf(dataDir: string): Folders {
  return {
    dataDir,
    cluster: join(dataDir, 'postgres'),
    access: join(dataDir, 'postgres-access'),
    socket: socketFolder(dataDir),
  }
}

function socketFolder(dataDir: string): string {
  const name = `switchyard-${createHash('sha256').update(dataDir).digest('hex').slice(0, 16)}`
  const candidates = [join(dataDir, 'postgres-socket'), join(tmpdir(), name), join('/tmp', name)]
  const fits = (folder: string) => Buffer.byteLength(join(folder, `.s.PGSQL.${port}`)) <= maxSocketPathLength
  return candidates.find(fits) ?? join('/tmp', name)
}

/** Creates the data folder and returns its real path. Throws `unavailable` with the reason if it cannot be used. */
export function prepareDataDir(dataDir: string): string {
  try {
    makeFolder(dataDir, 0o700)
    accessSync(dataDir, constants.R_OK | constants.W_OK | constants.X_OK)
    return realpathSync(dataDir)
  } catch (cause) {
    const { name, uid } = ourselves()
    const reason = cause instanceof Error ? cause.message : String(cause)
    const way = `make it writable for that user (chown ${uid}), or set SWITCHYARD_DATA_DIR to another folder`
    throw cannotStart(`data folder ${dataDir} cannot be used by user ${name}: ${reason}`, way, cause)
  }
}

/**
 * Not recursive `mkdir`, which reports a read-only disk as a missing folder and applies the mode to the parents too.
 */
function makeFolder(folder: string, mode: number): void {
  if (existsSync(folder)) return
  makeFolder(dirname(folder), 0o755)
  try {
    mkdirSync(folder, { mode })
  } catch (error) {
    // Another process may have created it.
    if (!existsSync(folder)) throw error
  }
}

/** Lets the server's user traverse the data folder; the files inside have their own permissions. */
export function allowTraversal(dataDir: string): void {
  chmodSync(dataDir, statSync(dataDir).mode | 0o011)
}

/**
 * Creates a private folder of the server's user. Throws if another user created it before, possible in a shared temp
 * folder.
 */
export function makePrivateFolder(folder: string, account: Account | undefined): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const found = lstatSync(folder)
  const us = process.getuid?.()
  if (!found.isDirectory() || (found.uid !== us && found.uid !== account?.uid && !isOursAlone(dirname(folder)))) {
    throw cannotStart(`${folder} belongs to another user`, 'remove it, or set SWITCHYARD_DATA_DIR to a shorter path')
  }
  if (account && found.uid !== account.uid) chownSync(folder, account.uid, account.gid)
  chmodSync(folder, 0o700)
}

/** True if only our user can create files in the folder; existing ones may belong to a previous account. */
function isOursAlone(folder: string): boolean {
  const { uid, mode } = statSync(folder)
  return uid === process.getuid?.() && (mode & 0o022) === 0
}

/** Allows only our own user to log in, as `postgres` and as `switchyard`. The kernel authenticates the peer. */
export function writeAccess(folder: string): void {
  const user = ourselves().name.replaceAll('"', '""')
  mkdirSync(folder, { recursive: true })
  chmodSync(folder, 0o755)
  writeForAll(join(folder, 'pg_hba.conf'), 'local all,replication all peer map=switchyard')
  writeForAll(join(folder, 'pg_ident.conf'), `switchyard "${user}" postgres\nswitchyard "${user}" switchyard`)
}

/** Writes a file that the server's user can read with any umask. It must not contain secrets. */
function writeForAll(file: string, text: string): void {
  writeFileSync(file, `${text}\n`)
  chmodSync(file, 0o644)
}

function ourselves(): { name: string; uid: number } {
  try {
    const { username, uid } = userInfo()
    return { name: username, uid }
  } catch (cause) {
    const problem = `user ${process.getuid?.()} has no entry in /etc/passwd, which PostgreSQL needs`
    throw cannotStart(problem, 'add one, start as another user, or set DATABASE_URL', cause)
  }
}
