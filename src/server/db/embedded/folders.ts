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

/** Where the parts of the embedded database lie. */
export interface Folders {
  readonly dataDir: string
  /** The database itself. */
  readonly cluster: string
  /** Who may log in, written by us at each start. */
  readonly access: string
  /** The folder of the unix socket. */
  readonly socket: string
}

/** Room for the longest path in a socket address; Linux takes 107 bytes, macOS 103. */
const longestSocketPath = 103

/** The port is only part of the socket's name: nothing listens on the network. */
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
  const fits = (folder: string) => Buffer.byteLength(join(folder, `.s.PGSQL.${port}`)) <= longestSocketPath
  return candidates.find(fits) ?? join('/tmp', name)
}

/** Makes the data folder and returns its real path, or refuses with the reason why it cannot be used. */
export function prepareDataDir(dataDir: string): string {
  try {
    makeFolder(dataDir, 0o700)
    accessSync(dataDir, constants.R_OK | constants.W_OK | constants.X_OK)
    return realpathSync(dataDir)
  } catch (cause) {
    const { name, uid } = ourselves()
    const reason = cause instanceof Error ? cause.message : String(cause)
    const way = `make it writable for that user (chown ${uid}), or set SWITCHYARD_DATA_DIR to another folder`
    throw cannotStart(`the data folder ${dataDir} cannot be used by user ${name}: ${reason}`, way, cause)
  }
}

/** Not `mkdir` with `recursive`: that reports a read-only disk as a missing folder, and closes the parents as well. */
function makeFolder(folder: string, mode: number): void {
  if (existsSync(folder)) return
  makeFolder(dirname(folder), 0o755)
  try {
    mkdirSync(folder, { mode })
  } catch (error) {
    // Another process may have been faster.
    if (!existsSync(folder)) throw error
  }
}

/** Lets the database's user pass through the data folder; what lies inside has rights of its own. */
export function letPass(dataDir: string): void {
  chmodSync(dataDir, statSync(dataDir).mode | 0o011)
}

/** A folder of the database's user alone. In a shared temp folder somebody else may have been there before. */
export function makePrivateFolder(folder: string, account: Account | undefined): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const found = lstatSync(folder)
  const us = process.getuid?.()
  if (!found.isDirectory() || (found.uid !== us && found.uid !== account?.uid && !isOursAlone(dirname(folder)))) {
    throw cannotStart(`${folder} belongs to somebody else`, 'remove it, or set SWITCHYARD_DATA_DIR to a shorter path')
  }
  if (account && found.uid !== account.uid) chownSync(folder, account.uid, account.gid)
  chmodSync(folder, 0o700)
}

/** True when only we can make anything in a folder; what lies there may belong to an account of before. */
function isOursAlone(folder: string): boolean {
  const { uid, mode } = statSync(folder)
  return uid === process.getuid?.() && (mode & 0o022) === 0
}

/** Lets our own user in as `postgres` and as `switchyard`, and nobody else: the kernel tells the server who calls. */
export function writeAccess(folder: string): void {
  const user = ourselves().name.replaceAll('"', '""')
  mkdirSync(folder, { recursive: true })
  chmodSync(folder, 0o755)
  writeForAll(join(folder, 'pg_hba.conf'), 'local all,replication all peer map=switchyard')
  writeForAll(join(folder, 'pg_ident.conf'), `switchyard "${user}" postgres\nswitchyard "${user}" switchyard`)
}

/** Readable by the database's user whatever our umask is; nothing in it is secret. */
function writeForAll(file: string, text: string): void {
  writeFileSync(file, `${text}\n`)
  chmodSync(file, 0o644)
}

function ourselves(): { name: string; uid: number } {
  try {
    const { username, uid } = userInfo()
    return { name: username, uid }
  } catch (cause) {
    const problem = `the user ${process.getuid?.()} has no entry in /etc/passwd, which PostgreSQL needs`
    throw cannotStart(problem, 'add one, start as another user, or set DATABASE_URL', cause)
  }
}
