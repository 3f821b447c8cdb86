import {
  chmodSync,
  chownSync,
  closeSync,
  existsSync,
  fsyncSync,
  lchownSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { startChild } from '../../platform/child-process.ts'
import type { Account } from './account.ts'
import { type Confinement, commandOf } from './confinement.ts'
import { cannotStart, explain } from './explain.ts'
import { isAlive } from './lock-file.ts'

/** Small, since it serves one program. `initdb` writes them to postgresql.conf, where the operator may change them. */
const settings = {
  shared_buffers: '32MB',
  maintenance_work_mem: '32MB',
  min_wal_size: '32MB',
  max_wal_size: '256MB',
  max_wal_senders: '2',
  // Each of these would cost processes that stand idle.
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
}

/** Makes the database's folder on the first start; refuses one that another major version made. */
export async function prepareCluster(place: Place, confinement: Confinement): Promise<void> {
  const { dataDir, cluster } = place
  refuseOtherOwner(cluster, confinement)
  if (!existsSync(join(cluster, 'PG_VERSION'))) await createCluster(place, confinement)
  refuseOtherVersion(cluster, confinement.build.major)
  if (confinement.account) giveTo(confinement.account, cluster)
  // Volumes of containers may widen the rights, which PostgreSQL refuses.
  chmodSync(cluster, 0o700)
  removeUnfinished(dataDir)
}

/**
 * Builds the folder under another name and renames it when it is complete, so that no interruption leaves half a
 * database. When another process was faster, its folder stays.
 */
async function createCluster(place: Place, confinement: Confinement): Promise<void> {
  const { dataDir, cluster } = place
  if (existsSync(cluster) && readdirSync(cluster).length > 0) {
    throw cannotStart(`${cluster} is not empty, and not a database`, 'move it away, or set SWITCHYARD_DATA_DIR')
  }
  removeUnfinished(dataDir)
  const unfinished = join(dataDir, `postgres.new-${process.pid}`)
  mkdirSync(unfinished, { mode: 0o700 })
  const { account } = confinement
  if (account) chownSync(unfinished, account.uid, account.gid)
  try {
    await initdb(unfinished, place, confinement)
    renameSync(unfinished, cluster)
    syncFolder(dataDir)
  } catch (error) {
    rmSync(unfinished, { recursive: true, force: true })
    if (!existsSync(join(cluster, 'PG_VERSION'))) throw error
  }
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

/** Removes what an interrupted first start left, unless its process still runs. */
function removeUnfinished(dataDir: string): void {
  for (const name of readdirSync(dataDir)) {
    const pid = Number(/^postgres(?:-.+)?\.new-(\d+)$/.exec(name)?.[1])
    if (!pid || (pid !== process.pid && isAlive(pid))) continue
    // Its initdb may be about to end, and still write.
    rmSync(join(dataDir, name), { recursive: true, force: true, maxRetries: 10, retryDelay: 50 })
  }
}

/** Makes the rename survive a power cut. */
function syncFolder(folder: string): void {
  const descriptor = openSync(folder, 'r')
  fsyncSync(descriptor)
  closeSync(descriptor)
}

function refuseOtherOwner(cluster: string, { account }: Confinement): void {
  const owner = statSync(cluster, { throwIfNoEntry: false })?.uid
  const us = process.getuid?.()
  if (account || owner === undefined || owner === us) return
  throw cannotStart(
    `${cluster} belongs to user ${owner}, not to ${us}`,
    `start as root, or run "chown -R ${us} ${cluster}"`,
  )
}

function refuseOtherVersion(cluster: string, ours: number): void {
  const file = join(cluster, 'PG_VERSION')
  const theirs = majorVersion(file)
  if (theirs === ours) return
  if (theirs === undefined)
    throw cannotStart(`${file} does not hold a version of PostgreSQL`, 'restore a backup of that folder')
  throw cannotStart(
    `${cluster} was made by PostgreSQL ${theirs}, but this version of Switchyard brings ${ours}`,
    `start the version of Switchyard that made it and export the data (pg_dump ${theirs}), then import it into an empty data folder`,
  )
}

/** Undefined when the file cannot be read or holds something else. */
function majorVersion(file: string): number | undefined {
  try {
    return Number(/^\d+/.exec(readFileSync(file, 'utf8'))?.[0] ?? Number.NaN) || undefined
  } catch {
    return undefined
  }
}

/** A restored copy may belong to root, which the server's user could not read. */
function giveTo({ uid, gid }: Account, cluster: string): void {
  if (statSync(cluster).uid !== 0) return
  for (const entry of readdirSync(cluster, { recursive: true })) lchownSync(join(cluster, String(entry)), uid, gid)
  lchownSync(cluster, uid, gid)
  syncFolder(dirname(cluster))
}
