import {
  chmodSync,
  chownSync,
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs'
import { join } from 'node:path'
import { runChild, startChild } from '../../platform/child-process.ts'
import type { Log } from '../../platform/log.ts'
import { type Account, listedAccount } from './account.ts'
import { type Confinement, commandOf } from './confinement.ts'
import { cannotStart, explain } from './explain.ts'
import { isAlive } from './lock-file.ts'
import { passwordFile } from './password-file.ts'

/**
 * Small settings for one client program. `initdb` writes them to postgresql.conf, where the operator may change them.
 */
const settings = {
  shared_buffers: '32MB',
  maintenance_work_mem: '32MB',
  min_wal_size: '32MB',
  max_wal_size: '256MB',
  max_wal_senders: '2',
  // Avoids idle processes.
  io_method: 'sync',
  max_logical_replication_workers: '0',
  max_parallel_workers_per_gather: '0',
  timezone: 'UTC',
  log_timezone: 'UTC',
}

interface Place {
  readonly dataDir: string
  readonly cluster: string
  readonly maxConnections: number
  readonly log: Pick<Log, 'info' | 'warn'>
}

/**
 * Creates the database folder on the first start. Throws `unavailable` for a folder of another owner or major version.
 */
export async function prepareCluster(place: Place, confinement: Confinement): Promise<void> {
  const { dataDir, cluster } = place
  rejectOtherOwner(cluster, confinement)
  if (!existsSync(join(cluster, 'PG_VERSION'))) await createCluster(place, confinement)
  rejectOtherVersion(cluster, confinement.build.major)
  if (confinement.account) await giveTo(confinement.account, cluster, place.log)
  // Container volumes may widen the permissions, which PostgreSQL rejects.
  chmodSync(cluster, 0o700)
  removeUnfinished(dataDir)
}

/**
 * Creates the folder under a temporary name and renames it when complete, so that an interruption leaves no partial
 * database. If another process was faster, its folder is kept.
 */
async function createCluster(place: Place, confinement: Confinement): Promise<void> {
  const { dataDir, cluster } = place
  if (existsSync(cluster) && readdirSync(cluster).length > 0) {
    throw cannotStart(
      `${cluster} is not empty and does not contain a database`,
      'move it away, or set SWITCHYARD_DATA_DIR',
    )
  }
  removeUnfinished(dataDir)
  const unfinished = join(dataDir, `postgres.new-${process.pid}`)
  mkdirSync(unfinished, { mode: 0o700 })
  try {
    await createAt(unfinished, place, confinement)
    renameSync(unfinished, cluster)
    syncFolder(dataDir)
  } catch (error) {
    rmSync(unfinished, { recursive: true, force: true })
    if (!existsSync(join(cluster, 'PG_VERSION'))) throw error
  }
}

/** Runs initdb as the future owner, or as a listed account with a change of the owner before the server first runs. */
async function createAt(folder: string, place: Place, confinement: Confinement): Promise<void> {
  const { account } = confinement
  if (!account) return initdb(folder, place, confinement)
  const file = account.isListed ? undefined : await passwordFile(account, place.dataDir)
  const creator = account.isListed || file !== undefined ? account : listedAccount()
  chownSync(folder, creator.uid, creator.gid)
  await initdb(folder, place, { ...confinement, account: creator, passwordFile: file })
  if (creator.uid === account.uid) return
  place.log.warn(
    { user: creator.name, uid: account.uid },
    'created the database as a shared user, because mount namespaces are not permitted; the server runs as a separate user',
  )
  await giveTo(account, folder, place.log)
}

async function initdb(folder: string, { dataDir, maxConnections }: Place, confinement: Confinement): Promise<void> {
  const locale = ['--encoding=UTF8', '--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8']
  const given = Object.entries({ ...settings, max_connections: maxConnections }).flatMap(([name, value]) => [
    '-c',
    `${name}=${value}`,
  ])
  const args = ['-D', folder, '-U', 'postgres', '--auth=reject', '--no-instructions', ...locale, ...given]
  const { file, args: all, options } = commandOf(confinement, 'initdb', args)
  const child = startChild(file, all, { ...options, stdio: ['ignore', 'pipe', 'pipe'], detached: true })
  const output: string[] = []
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', chunk => output.push(String(chunk)))
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', resolve)
  })
  if (code !== 0) throw explain({ doing: 'creating the database', dataDir, output: output.join('').slice(-2000) })
}

/** Removes folders of interrupted first starts, unless their process is still running. */
function removeUnfinished(dataDir: string): void {
  for (const name of readdirSync(dataDir)) {
    const pid = Number(/^postgres(?:-.+)?\.new-(\d+)$/.exec(name)?.[1])
    if (!pid || (pid !== process.pid && isAlive(pid))) continue
    // Retries, because its initdb may still be writing.
    rmSync(join(dataDir, name), { recursive: true, force: true, maxRetries: 10, retryDelay: 50 })
  }
}

/** Makes a rename durable. */
function syncFolder(folder: string): void {
  const descriptor = openSync(folder, 'r')
  fsyncSync(descriptor)
  closeSync(descriptor)
}

function rejectOtherOwner(cluster: string, { account }: Confinement): void {
  const owner = statSync(cluster, { throwIfNoEntry: false })?.uid
  const us = process.getuid?.()
  if (account || owner === undefined || owner === us) return
  throw cannotStart(
    `${cluster} belongs to user ${owner}, not to ${us}`,
    `start as root, or run "chown -R ${us} ${cluster}"`,
  )
}

function rejectOtherVersion(cluster: string, ours: number): void {
  const file = join(cluster, 'PG_VERSION')
  const theirs = majorVersion(file)
  if (theirs === ours) return
  if (theirs === undefined)
    throw cannotStart(`${file} does not contain a PostgreSQL version`, 'restore a backup of that folder')
  throw cannotStart(
    `${cluster} was created by PostgreSQL ${theirs}, but this version of Switchyard includes PostgreSQL ${ours}`,
    `start the version of Switchyard that created it and export the data (pg_dump ${theirs}), then import it into an empty data folder`,
  )
}

/** Undefined if the file cannot be read or does not contain a version. */
function majorVersion(file: string): number | undefined {
  try {
    return Number(/^\d+/.exec(readFileSync(file, 'utf8'))?.[0] ?? Number.NaN) || undefined
  } catch {
    return undefined
  }
}

/**
 * Changes the owner of the files to the server's user, the outermost folder last. They may belong to root after a
 * restore, or to a shared user. Uses `chown`, which is safe if a process of that user replaces a folder by a link
 * meanwhile.
 */
async function giveTo({ uid, gid }: Account, cluster: string, log: Place['log']): Promise<void> {
  const owner = statSync(cluster).uid
  if (owner === uid) return
  await runChild('chown', ['-RhP', `${uid}:${gid}`, '--', cluster], { env: { PATH: '/usr/bin:/bin' } })
  syncFolder(cluster)
  log.info({ cluster, from: owner, to: uid }, 'changed the owner of the embedded database files')
}
