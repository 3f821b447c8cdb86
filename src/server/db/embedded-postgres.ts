import { existsSync, realpathSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Log } from '../platform/log.ts'
import { otherAccount } from './embedded/account.ts'
import { buildAt, packagedBuild } from './embedded/binaries.ts'
import { prepareCluster } from './embedded/cluster.ts'
import { findConfinement } from './embedded/confinement.ts'
import { allowTraversal, type Folders, foldersOf, port, prepareDataDir } from './embedded/folders.ts'
import { Keeper } from './embedded/keeper.ts'

interface Options {
  /** Parent of the database folder `postgres`. Created if missing. */
  readonly dataDir: string
  readonly log: Log
  /** Folder of the PostgreSQL build; that of the npm package for this platform by default. */
  readonly native?: string
  /** Maximum number of connections; 60 by default. Applied when the database is created. */
  readonly maxConnections?: number
  /** Number of service processes; 1 by default. With several, max_connections is 30 per process plus 10. */
  readonly processes?: number
  /** Called if another process took over the data folder while the server was down. The caller should exit then. */
  readonly onClaimed?: (error: Error) => void
}

export interface EmbeddedPostgres {
  /** URL for `createPool`: database `switchyard` as its owner, over a Unix socket that only our user may open. */
  readonly url: string
  /** URL of the same server as superuser. */
  readonly adminUrl: string
  /** Stops the server and closes open connections. */
  stop(): Promise<void>
}

/**
 * Starts the bundled PostgreSQL and restarts it whenever it exits. A second process on the same data folder is
 * rejected. Rejects with `unavailable`, with cause and next step, if it cannot start. Decision 0002.
 */
export async function startEmbeddedPostgres(options: Options): Promise<EmbeddedPostgres> {
  const { dataDir, log, native, maxConnections = 60, processes = 1, onClaimed } = options
  const build = native ? buildAt(native) : packagedBuild()
  const folders = foldersOf(prepareDataDir(resolve(dataDir)))
  const account = otherAccount(folders.cluster)
  if (account) allowTraversal(folders.dataDir)
  const confinement = await findConfinement({ dataDir: folders.dataDir, build, account })
  const { setpriv, capability } = confinement
  log.debug({ folders, user: account?.name, setpriv, capability, version: build.version }, 'embedded database')
  await prepareCluster({ ...folders, maxConnections, log }, confinement)
  const keeper = new Keeper({
    folders,
    confinement,
    log,
    connections: processes > 1 ? 30 * processes + 10 : undefined,
    onClaimed: onClaimed ?? (error => log.fatal({ err: error })),
  })
  await keeper.start()
  return { url: urlOf(folders, 'switchyard'), adminUrl: urlOf(folders, 'postgres'), stop: () => keeper.stop() }
}

/** Returns the URL of the server of a data folder; undefined if there never was one. */
export function embeddedUrl(dataDir: string): string | undefined {
  if (!existsSync(dataDir)) return undefined
  const folders = foldersOf(realpathSync(dataDir))
  return existsSync(folders.cluster) ? urlOf(folders, 'switchyard') : undefined
}

/** Sets every parameter, so that PG* environment variables cannot change the target. */
function urlOf({ socket }: Folders, role: 'switchyard' | 'postgres'): string {
  const query = new URLSearchParams({ host: socket, port: String(port), sslmode: 'disable' })
  return `postgres://${role}@localhost/${role}?${query}`
}
