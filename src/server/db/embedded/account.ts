import { readFileSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { cannotStart } from './explain.ts'
import { isServer, readLockFile } from './lock-file.ts'

/** User that the server runs as. */
export interface Account {
  readonly name: string
  readonly uid: number
  readonly gid: number
  /** True if `/etc/passwd` lists it, which `initdb` requires and the server does not. */
  readonly isListed: boolean
}

/** Returns all accounts of this machine, in the order of `/etc/passwd`. */
function accounts(): Account[] {
  const lines = readFileSync('/etc/passwd', 'utf8').split('\n')
  return lines.flatMap(line => {
    const [name, , uid, gid] = line.split(':')
    // macOS writes -2 for 4294967294.
    return name && uid && gid ? [{ name, uid: Number(uid) >>> 0, gid: Number(gid) >>> 0, isListed: true }] : []
  })
}

/** First uid to try for an unnamed user. Debian, systemd and container engines do not assign these uids. */
const ownUid = 65_529
/** `nobody`, which other services use, and the user of sandboxed commands. */
const sharedUids: readonly number[] = [65_534, 65_533]

/**
 * Returns the user for the server if this process is root, which PostgreSQL rejects: the owner of the database files
 * unless it is a shared user, else the user `switchyard`, else a separate unnamed user. While a server runs on the
 * files their owner is kept, even a shared one. Undefined if this process is not root.
 */
export function otherAccount(cluster: string): Account | undefined {
  if (process.getuid?.() !== 0) return undefined
  const all = accounts()
  const files = statSync(cluster, { throwIfNoEntry: false })
  const owner = files && files.uid !== 0 ? unnamed(all, files) : undefined
  if (owner && (!isShared(owner) || isRunning(cluster))) return owner
  const named = all.find(({ name }) => name === 'switchyard')
  return named ?? unnamed([], { uid: freeUid(all), gid: freeUid(all) })
}

const isShared = ({ name, uid }: Account): boolean => name === 'nobody' || sharedUids.includes(uid)

/** Returns the account with that uid; an unnamed one if it is not listed. */
const unnamed = (all: readonly Account[], { uid, gid }: Pick<Account, 'uid' | 'gid'>): Account =>
  all.find(account => account.uid === uid) ?? { name: String(uid), uid, gid, isListed: false }

function freeUid(all: readonly Account[]): number {
  let uid = ownUid
  while (all.some(account => account.uid === uid || account.gid === uid)) uid--
  return uid
}

function isRunning(cluster: string): boolean {
  const pid = readLockFile(cluster)?.pid
  return pid !== undefined && isServer(pid)
}

/** Returns an unprivileged account for `initdb`, which cannot run as an unlisted one. */
export function listedAccount(): Account {
  const found = accounts().find(({ name }) => name === 'nobody')
  if (found) return found
  throw cannotStart(
    'cannot create the database: neither user "switchyard" nor user "nobody" exists',
    'add the user "switchyard" (useradd --system switchyard), or start Switchyard as another user',
  )
}

/** True if `account` may traverse every parent folder of `path`, and `path` itself. */
export function canEnter(account: Account, path: string): boolean {
  const parent = dirname(path)
  const stat = statSync(path)
  const shift = stat.uid === account.uid ? 6 : stat.gid === account.gid ? 3 : 0
  const mayEnter = ((stat.mode >> shift) & 1) === 1
  return mayEnter && (parent === path || canEnter(account, parent))
}
