import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from 'pg'
import { createPool } from '../src/server/db/connect.ts'
import { startEmbeddedPostgres } from '../src/server/db/embedded-postgres.ts'
import { migrate } from '../src/server/db/migrate.ts'
import { createLog } from '../src/server/platform/log.ts'
import { removeDeadFolders } from './dead-folders.ts'
import { dropDatabase } from './drop-database.ts'

const prefix = 'switchyard_test_'
const folderPrefix = 'switchyard-test-'
/** Tests run several replicas on one server, each with some 30 connections. */
const maxConnections = 300
const memoryFolder = '/dev/shm'
/** Of memory for the files of the server: databases at the same time, and its write-ahead log. */
const neededBytes = 4 * 1024 ** 3

/** A server whose user may make databases, and the name of a migrated one without connections. */
export interface TestDatabase {
  readonly url: string
  readonly template: string
}

/** How tests find it; see test/support/service/database.ts. */
export const variablesOf = ({ url, template }: TestDatabase) => ({
  SWITCHYARD_TEST_DATABASE_URL: url,
  SWITCHYARD_TEST_TEMPLATE: template,
})

/** Runs `work` with a database of DATABASE_URL, or of an embedded server for this run. It goes with all its copies. */
export async function withTestDatabase<T>(work: (database: TestDatabase) => Promise<T>): Promise<T> {
  const server = await databaseServer()
  try {
    return await withTemplate(server.url, template => work({ url: server.url, template }))
  } finally {
    await server.stop()
  }
}

async function databaseServer(): Promise<{ url: string; stop(): Promise<void> }> {
  const given = process.env['DATABASE_URL']
  if (given) return { url: given, stop: async () => undefined }
  const folder = databaseFolder()
  removeDeadFolders(folder, folderPrefix)
  const dataDir = mkdtempSync(join(folder, `${folderPrefix}${process.pid}-`))
  const { url, adminUrl, stop } = await startEmbeddedPostgres({ dataDir, maxConnections, log: createLog('warn') })
  await asRole(adminUrl, prepareServer)
  return {
    url,
    async stop() {
      await stop()
      rmSync(dataDir, { recursive: true, force: true })
    },
  }
}

/** A database has some 1,200 files, which take 30 times as long to create on a disk. */
function databaseFolder(): string {
  if (process.platform !== 'linux' || process.availableMemory() < 2 * neededBytes) return tmpdir()
  try {
    const { bavail, bsize } = statfsSync(memoryFolder)
    return bavail * bsize >= neededBytes ? memoryFolder : tmpdir()
  } catch {
    return tmpdir()
  }
}

/** Tests kill services, never this server, so its files need not reach the disk. */
async function prepareServer(admin: Client): Promise<void> {
  await admin.query('alter role switchyard createdb')
  for (const setting of ["fsync = 'off'", "full_page_writes = 'off'", "max_wal_size = '2GB'"])
    await admin.query(`alter system set ${setting}`)
  await admin.query('select pg_reload_conf()')
}

async function asRole(url: string, work: (client: Client) => Promise<unknown>): Promise<void> {
  const client = new Client({ connectionString: url })
  await client.connect()
  await work(client).finally(() => client.end())
}

/** Runs `work` with the name of a migrated database without connections, and drops it with all its copies. */
async function withTemplate<T>(url: string, work: (template: string) => Promise<T>): Promise<T> {
  const template = `${prefix}${randomBytes(4).toString('hex')}`
  // The name of this connection shows other runs on the same server that the databases of this one are in use.
  const admin = new Client({ connectionString: url, application_name: template })
  admin.on('error', error => process.stderr.write(`The test database went away: ${error.message}\n`))
  await admin.connect()
  try {
    await dropDatabases(admin, await deadRuns(admin))
    await admin.query(`create database ${template} template template0`)
    await migrateDatabase(url, template)
    return await work(template)
  } finally {
    await dropDatabases(admin, [template])
    await admin.end()
  }
}

async function migrateDatabase(adminUrl: string, name: string): Promise<void> {
  const url = new URL(adminUrl.replace('@/', '@localhost/'))
  url.pathname = `/${name}`
  const pool = createPool({ url: url.href, max: 1, onLost: () => undefined })
  await migrate(pool).finally(() => pool.end())
}

async function deadRuns(admin: Client): Promise<string[]> {
  const { rows } = await admin.query<{ run: string }>(
    `select distinct left(datname, $1) as run from pg_database
     where starts_with(datname, $2) and left(datname, $1) not in (select application_name from pg_stat_activity)`,
    [prefix.length + 8, prefix],
  )
  return rows.map(({ run }) => run)
}

async function dropDatabases(admin: Client, runs: readonly string[]): Promise<void> {
  for (const run of runs) {
    const { rows } = await admin.query<{ datname: string }>(
      'select datname from pg_database where starts_with(datname, $1)',
      [run],
    )
    for (const { datname } of rows) await dropDatabase(admin, datname)
  }
}
