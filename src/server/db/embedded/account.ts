import { readFileSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { cannotStart } from './explain.ts'
import { isServer, readLockFile } from './lock-file.ts'

/** The user that the server runs as. */
export interface Account {
  readonly name: string
  readonly uid: number
  readonly gid: number
  /** True when `/etc/passwd` has it, which `initdb` needs and the server does not. */
  readonly isListed: boolean
}

/** Every account of this machine, in the order of `/etc/passwd`. */
function accounts(): Account[] {
  const lines = readFileSync('/etc/passwd', 'utf8').split('\n')
  return lines.flatMap(line => {
    const [name, , uid, gid] = line.split(':')
    // macOS writes -2 for the highest number but one.
    return name && uid && gid ? [{ name, uid: Number(uid) >>> 0, gid: Number(gid) >>> 0, isListed: true }] : []
  })
}

/** The first of the numbers for a user without a name. Debian, systemd and container engines give out none of these. */
const ownUid = 65_529
/** `nobody`, which other services run as, and the user of the sandboxes' commands. */
const sharedUids: readonly number[] = [65_534, 65_533]

/**
 * Whom the server must run as when we are root, which PostgreSQL refuses: the owner of the database's files when no other
 * service has that user, else the user `switchyard`, else a user of its own that only has a number. While a server runs on the
 * files their owner stays, also a shared one. Undefined when we are not root.
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

/** The account with that number; one without a name when there is none. */
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

/** An account of this machine without rights, for `initdb` where it cannot run as one that only has a number. */
export function listedAccount(): Account {
  const found = accounts().find(({ name }) => name === 'nobody')
  if (found) return found
  throw cannotStart(
    'the database cannot be created: there is no user "switchyard" and no user "nobody"',
    'add the user "switchyard" (useradd --system switchyard), or start Switchyard as another user',
  )
}

/** True when `account` may enter every folder on the way to `path`, and `path` itself. */
export function canEnter(account: Account, path: string): boolean {
  const parent = dirname(path)
  const stat = statSync(path)
  const shift = stat.uid === account.uid ? 6 : stat.gid === account.gid ? 3 : 0
  const mayEnter = ((stat.mode >> shift) & 1) === 1
  return mayEnter && (parent === path || canEnter(account, parent))
}
