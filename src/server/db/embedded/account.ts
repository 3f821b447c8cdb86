import { readFileSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { cannotStart } from './explain.ts'

/** The user that the server runs as. */
export interface Account {
  readonly name: string
  readonly uid: number
  readonly gid: number
}

/** Every account of this machine, in the order of `/etc/passwd`. */
function accounts(): Account[] {
  const lines = readFileSync('/etc/passwd', 'utf8').split('\n')
  return lines.flatMap(line => {
    const [name, , uid, gid] = line.split(':')
    // macOS writes -2 for the highest number but one.
    return name && uid && gid ? [{ name, uid: Number(uid) >>> 0, gid: Number(gid) >>> 0 }] : []
  })
}

/**
 * Whom the server must run as when we are root, which PostgreSQL refuses: the owner of the database's files, else the
 * user `switchyard`, else `nobody`. Undefined when we are not root.
 */
export function otherAccount(cluster: string): Account | undefined {
  if (process.getuid?.() !== 0) return undefined
  const all = accounts()
  const owner = statSync(cluster, { throwIfNoEntry: false })?.uid ?? 0
  const owning = owner === 0 ? undefined : all.find(({ uid }) => uid === owner)
  const found = owning ?? all.find(({ name }) => name === 'switchyard') ?? all.find(({ name }) => name === 'nobody')
  if (found) return found
  throw cannotStart(
    'PostgreSQL refuses to run as root, and there is no user "nobody"',
    'start Switchyard as another user',
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
