import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { Client } from 'pg'
import { answerOf, kill, spawnServer, temporaryFolder } from '../../../test/support/service/data-folder.ts'
import { createLog } from '../platform/log.ts'
import { createPool } from './connect.ts'
import { otherAccount } from './embedded/account.ts'
import { packagedBuild } from './embedded/binaries.ts'
import { findConfinement } from './embedded/confinement.ts'
import { foldersOf } from './embedded/folders.ts'
import { isServer, readLockFile } from './embedded/lock-file.ts'
import { startServer } from './embedded/server-process.ts'
import { type EmbeddedPostgres, startEmbeddedPostgres } from './embedded-postgres.ts'

const log = createLog('silent')

/** Starts on `dataDir`; stopped after the last test of the file at the latest. */
async function started(dataDir: string): Promise<EmbeddedPostgres> {
  const server = await startEmbeddedPostgres({ dataDir, log })
  after(() => server.stop())
  return server
}

async function sql<Row extends object>(url: string, text: string): Promise<Row[]> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query<Row>(text)).rows
  } finally {
    await client.end()
  }
}

const pidOf = (dataDir: string) => readLockFile(join(dataDir, 'postgres'))?.pid ?? 0

test('committed data survives a restart, and no process runs while stopped', async () => {
  const dataDir = temporaryFolder()
  const first = await started(dataDir)
  await sql(first.url, 'create table note (text text); insert into note values ($$kept$$)')
  const pid = pidOf(dataDir)
  await first.stop()
  assert.equal(isServer(pid), false)
  const second = await started(dataDir)
  assert.deepEqual(await sql(second.url, 'select text from note'), [{ text: 'kept' }])
  await second.stop()
})

test('a second start on a data folder is rejected with the folder and the process', async () => {
  const dataDir = temporaryFolder()
  const owner = spawnServer(dataDir)
  const { url = '' } = await answerOf(owner)
  await assert.rejects(startEmbeddedPostgres({ dataDir, log }), (error: Error) => {
    assert.match(error.message, new RegExp(`${dataDir} is in use by process ${owner.pid}\\b`))
    return true
  })
  assert.deepEqual(await sql(url, 'select 1 as one'), [{ one: 1 }])
  await kill(owner)
})

test('of two processes that create the same data folder one runs and the other is rejected', async () => {
  const dataDir = temporaryFolder()
  const both = [spawnServer(dataDir), spawnServer(dataDir)]
  const answers = await Promise.all(both.map(answerOf))
  assert.equal(answers.filter(({ url }) => url).length, 1)
  assert.equal(answers.filter(({ error }) => error?.includes('is in use by process')).length, 1)
  for (const child of both) await kill(child)
})

test('data survives kill -9 of the owner', async () => {
  const dataDir = temporaryFolder()
  const owner = spawnServer(dataDir)
  const { url = '' } = await answerOf(owner)
  await sql(url, 'create table note (text text); insert into note values ($$kept$$)')
  await kill(owner)
  const next = await started(dataDir)
  assert.deepEqual(await sql(next.url, 'select text from note'), [{ text: 'kept' }])
  await next.stop()
})

test('an orphaned running server is replaced, and its data is kept', async () => {
  const dataDir = temporaryFolder()
  const first = await started(dataDir)
  await sql(first.url, 'create table note (text text); insert into note values ($$kept$$)')
  await first.stop()
  const folders = foldersOf(dataDir)
  const account = otherAccount(folders.cluster)
  const confinement = await findConfinement({ dataDir, build: packagedBuild(), account })
  const orphan = startServer({ confinement, folders, log, connections: undefined })
  after(() => orphan.stop())
  await until(() => sql(first.url, 'select 1'))
  const next = await started(dataDir)
  assert.equal(orphan.hasExited, true)
  assert.deepEqual(await sql(next.url, 'select text from note'), [{ text: 'kept' }])
  await next.stop()
})

for (const afterMs of [60, 250, 450, 700, 1_000]) {
  test(`a first start killed after ${afterMs} ms does not prevent the next start`, async () => {
    const dataDir = temporaryFolder()
    const interrupted = spawnServer(dataDir)
    await setTimeout(afterMs)
    await kill(interrupted)
    const server = await started(dataDir)
    assert.deepEqual(await sql(server.url, 'select current_user::text as name'), [{ name: 'switchyard' }])
    await server.stop()
  })
}

test('the server restarts after it or one of its processes was killed, and the pool reconnects', async () => {
  const dataDir = temporaryFolder()
  const server = await started(dataDir)
  const pool = createPool({ url: server.url, onLost: () => undefined })
  const backend = async () => {
    const { rows } = await pool.query<{ pid: number }>('select pg_backend_pid() as pid')
    return rows[0]?.pid ?? 0
  }
  for (const victim of [() => pidOf(dataDir), backend]) {
    const old = await backend()
    process.kill(await victim(), 'SIGKILL')
    // The old process may answer once more before it detects that its server has exited.
    await until(async () => assert.notEqual(await backend(), old))
  }
  await assert.rejects(startEmbeddedPostgres({ dataDir, log }), /is in use by process/)
  await pool.end()
  await server.stop()
})

test('a reused pid of a dead server does not prevent a start', async () => {
  const dataDir = temporaryFolder()
  const lockFile = join(dataDir, 'postgres', 'postmaster.pid')
  const owner = spawnServer(dataDir)
  await answerOf(owner)
  const left = readFileSync(lockFile, 'utf8')
  owner.kill('SIGTERM')
  await until(() => assert.equal(pidOf(dataDir), 0))
  // Of the same user: for other users PostgreSQL detects by itself that it is not a server.
  const account = otherAccount(join(dataDir, 'postgres')) ?? {}
  const stranger = spawn('sleep', ['60'], { ...account, cwd: '/', stdio: 'ignore' })
  after(() => stranger.kill())
  writeFileSync(lockFile, left.replace(/^\d+/, String(stranger.pid)))
  const server = await started(dataDir)
  await server.stop()
  await kill(stranger)
})

test('a data folder of another major version is rejected with the migration steps', async () => {
  const dataDir = temporaryFolder()
  await (await started(dataDir)).stop()
  writeFileSync(join(dataDir, 'postgres', 'PG_VERSION'), '17\n')
  await assert.rejects(
    startEmbeddedPostgres({ dataDir, log }),
    /created by PostgreSQL 17, but .* includes PostgreSQL 18.*pg_dump 17/,
  )
})

test('a data folder that cannot be created is rejected with its path and the next step', async () => {
  const file = join(temporaryFolder(), 'file')
  writeFileSync(file, '')
  const wanted = new RegExp(`${file}/data cannot be used by user \\w+: ENOTDIR.*set SWITCHYARD_DATA_DIR`)
  await assert.rejects(startEmbeddedPostgres({ dataDir: join(file, 'data'), log }), wanted)
})

test('a data folder with a path too long for a socket can be used', async () => {
  const dataDir = join(temporaryFolder(), 'deep'.repeat(30))
  const server = await started(dataDir)
  assert.deepEqual(await sql(server.url, 'select 1 as one'), [{ one: 1 }])
  await server.stop()
})

test('S58: the server does not listen on the network, commits are durable, and the service is not superuser', async () => {
  const dataDir = temporaryFolder()
  const server = await started(dataDir)
  const names = [
    'listen_addresses',
    'fsync',
    'full_page_writes',
    'synchronous_commit',
    'is_superuser',
    'server_encoding',
  ]
  const columns = names.map(name => `current_setting('${name}') as ${name}`)
  assert.deepEqual(await sql(server.url, `select ${columns}`), [
    {
      listen_addresses: '',
      fsync: 'on',
      full_page_writes: 'on',
      synchronous_commit: 'on',
      is_superuser: 'off',
      server_encoding: 'UTF8',
    },
  ])
  assert.equal(statSync(foldersOf(dataDir).socket).mode & 0o777, 0o700)
  await server.stop()
})

/** Retries until it succeeds or the test times out. */
async function until(attempt: () => unknown): Promise<void> {
  for (;;) {
    try {
      await attempt()
      return
    } catch {
      await setTimeout(20)
    }
  }
}
