// Runs the tests against one PostgreSQL: that of DATABASE_URL, or an embedded one for this run.
// npm test                       every test
// npm test -- <files> [--flags]  these files, with flags of `node --test` such as --test-name-pattern=text
import { execFileSync, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync, globSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from 'pg'
import { createPool } from '../src/server/db/connect.ts'
import { isAlive } from '../src/server/db/embedded/lock-file.ts'
import { startEmbeddedPostgres } from '../src/server/db/embedded-postgres.ts'
import { migrate } from '../src/server/db/migrate.ts'
import { createLog } from '../src/server/platform/log.ts'
import { lackVariable, type SystemProgram } from '../test/support/lack.ts'
import { filesThatNeed, lackingPrograms } from './system-programs.ts'

const root = join(import.meta.dirname, '..')
const clients = join(root, 'test', 'clients')
const prefix = 'switchyard_test_'
const folderPrefix = 'switchyard-test-'

process.exitCode = await main(process.argv.slice(2))

async function main(args: string[]): Promise<number> {
  const flags = args.filter(arg => arg.startsWith('-'))
  const chosen = chosenFiles(args.filter(arg => !arg.startsWith('-')))
  const lacking = lackingPrograms()
  const leftOut = chosen.filter(file =>
    lacking.some(program => filesThatNeed[program].some(name => file.endsWith(name))),
  )
  const files = chosen.filter(file => !leftOut.includes(file))
  if (files.length === 0) {
    process.stderr.write('No test file found, or not one for each name.\n')
    return 1
  }
  if (lacking.length > 0 && process.env['CI']) {
    process.stderr.write(`The tests need ${lacking.join(' and ')}: apt-get install ${lacking.join(' ')}\n`)
    return 1
  }
  if (existsSync(join(clients, 'package-lock.json'))) {
    execFileSync(process.execPath, [join(import.meta.dirname, 'install.mjs'), clients], { stdio: 'inherit' })
  }
  const server = await databaseServer()
  try {
    const code = await withTemplate(server.url, template =>
      runTests(files, flags, { url: server.url, template, lacking }),
    )
    process.stdout.write(`${files.length} test files examined\n`)
    if (lacking.length > 0) {
      const install = `apt-get install ${lacking.join(' ')}`
      process.stdout.write(
        `NOT TESTED without ${lacking.join(' and ')} (${install}): ${leftOut.length} files, and what is skipped above\n`,
      )
    }
    return code
  } finally {
    await server.stop()
  }
}

function chosenFiles(patterns: readonly string[]): string[] {
  if (patterns.length > 0) {
    const found = patterns.map(pattern => globSync(pattern))
    return found.every(files => files.length > 0) ? found.flat() : []
  }
  return globSync(['{src,test,bench}/**/*.test.ts'], { cwd: root, exclude: ['**/node_modules/**'] })
    .map(file => join(root, file))
    .sort()
}

async function databaseServer(): Promise<{ url: string; stop(): Promise<void> }> {
  const given = process.env['DATABASE_URL']
  if (given) return { url: given, stop: async () => undefined }
  removeDeadFolders()
  const dataDir = mkdtempSync(join(tmpdir(), `${folderPrefix}${process.pid}-`))
  const { url, adminUrl, stop } = await startEmbeddedPostgres({ dataDir, log: createLog('warn') })
  await asRole(adminUrl, client => client.query('alter role switchyard createdb'))
  return {
    url,
    async stop() {
      await stop()
      rmSync(dataDir, { recursive: true, force: true })
    },
  }
}

/** Folders of runs that were killed. */
function removeDeadFolders(): void {
  for (const name of readdirSync(tmpdir())) {
    const pid = Number(name.startsWith(folderPrefix) && name.slice(folderPrefix.length).split('-')[0])
    if (pid > 0 && !isAlive(pid)) rmSync(join(tmpdir(), name), { recursive: true, force: true })
  }
}

async function asRole(url: string, work: (client: Client) => Promise<unknown>): Promise<void> {
  const client = new Client({ connectionString: url })
  await client.connect()
  await work(client).finally(() => client.end())
}

/** Runs `work` with the name of a migrated database that nobody is connected to, and drops it with all its copies. */
async function withTemplate(url: string, work: (template: string) => Promise<number>): Promise<number> {
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
    for (const { datname } of rows) await admin.query(`drop database if exists ${datname} with (force)`)
  }
}

interface Setting {
  readonly url: string
  readonly template: string
  readonly lacking: readonly SystemProgram[]
}

function runTests(files: string[], flags: string[], { url, template, lacking }: Setting): Promise<number> {
  // A test that starts a server gives it a database of its own, so the caller's must not reach it.
  const { DATABASE_URL: _, ...env } = process.env
  const child = spawn(
    process.execPath,
    ['--test', '--test-concurrency=2', '--test-timeout=180000', ...flags, ...files],
    {
      stdio: 'inherit',
      env: {
        ...env,
        SWITCHYARD_TEST_DATABASE_URL: url,
        SWITCHYARD_TEST_TEMPLATE: template,
        [lackVariable]: lacking.join(' '),
      },
    },
  )
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => child.kill(signal))
  return new Promise(resolve => {
    child.once('exit', code => resolve(code ?? 1))
  })
}
