import { existsSync, realpathSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Log } from '../platform/log.ts'
import { otherAccount } from './embedded/account.ts'
import { buildAt, packagedBuild } from './embedded/binaries.ts'
import { prepareCluster } from './embedded/cluster.ts'
import { findConfinement } from './embedded/confinement.ts'
import { type Folders, foldersOf, letPass, port, prepareDataDir } from './embedded/folders.ts'
import { Keeper } from './embedded/keeper.ts'

interface Options {
  /** The database lies in `postgres` below it. Made when it is missing. */
  readonly dataDir: string
  readonly log: Log
  /** The folder of the PostgreSQL build; that of the npm package for this machine by default. */
  readonly native?: string
  /** Connections at most; 60 by default. Counts when the database is made. */
  readonly maxConnections?: number
  /** Processes of the service that connect; 1 by default. For several the server starts with 30 connections for each and 10 more. */
  readonly processes?: number
  /** Told when another process took the data folder while our server was down. The caller should end then. */
  readonly onTaken?: (error: Error) => void
}

export interface EmbeddedPostgres {
  /** For `createPool`: the database `switchyard` as its owner, over a unix socket that is open to our user alone. */
  readonly url: string
  /** The same server as its superuser. */
  readonly adminUrl: string
  /** Ends the server, and cuts connections that are still open. */
  stop(): Promise<void>
}

/**
 * Starts the PostgreSQL that comes with the service, and starts it again whenever it dies. One process per data folder:
 * a second one is refused. `unavailable` with the cause and the next step when it cannot start. Decision 0002.
 */
export async function startEmbeddedPostgres(options: Options): Promise<EmbeddedPostgres> {
  const { dataDir, log, native, maxConnections = 60, processes = 1, onTaken } = options
  const build = native ? buildAt(native) : packagedBuild()
  const folders = foldersOf(prepareDataDir(resolve(dataDir)))
  const account = otherAccount(folders.cluster)
  if (account) letPass(folders.dataDir)
  const confinement = await findConfinement({ dataDir: folders.dataDir, build, account })
  const { setpriv, capability } = confinement
  log.debug({ folders, user: account?.name, setpriv, capability, version: build.version }, 'embedded database')
  await prepareCluster({ ...folders, maxConnections, log }, confinement)
  const keeper = new Keeper({
    folders,
    confinement,
    log,
    connections: processes > 1 ? 30 * processes + 10 : undefined,
    onTaken: onTaken ?? (error => log.fatal({ err: error })),
  })
  await keeper.start()
  return { url: urlOf(folders, 'switchyard'), adminUrl: urlOf(folders, 'postgres'), stop: () => keeper.stop() }
}

/** Where a server that runs on this data folder is reached; undefined when there never was one. */
export function embeddedUrl(dataDir: string): string | undefined {
  if (!existsSync(dataDir)) return undefined
  const folders = foldersOf(realpathSync(dataDir))
  return existsSync(folders.cluster) ? urlOf(folders, 'switchyard') : undefined
}

/** Everything is named, so that no PG* variable of the environment changes where it leads. */
function urlOf({ socket }: Folders, role: 'switchyard' | 'postgres'): string {
  const query = new URLSearchParams({ host: socket, port: String(port), sslmode: 'disable' })
  return `postgres://${role}@localhost/${role}?${query}`
}
